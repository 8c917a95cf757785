"""Imports: read files, check them, store items."""
