"""Data with a known truth: simulated people, judges and systems, and published tables."""
