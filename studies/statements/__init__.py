"""Statements to the database for all apps: compiled once, rows in bulk, totals that are kept."""
