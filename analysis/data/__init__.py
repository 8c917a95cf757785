"""From the database to frozen arrays."""
