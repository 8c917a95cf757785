"""Database statements for all apps: prepared once, rows in bulk, cached totals."""
