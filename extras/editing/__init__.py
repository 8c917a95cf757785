"""Changing what a study has: its items on pages, or all of it by files and `apply`."""
