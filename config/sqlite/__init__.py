"""SQLite: Django's backend, with writers that all retry equally often."""
