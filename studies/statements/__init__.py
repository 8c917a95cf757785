"""Statements to the database for all apps: prepared once, rows in bulk, totals that are kept."""
