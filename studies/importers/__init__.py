"""Files in: reading them, checking them, storing items."""
