"""SQLite: Django's own backend, whose writers all try again equally often."""
