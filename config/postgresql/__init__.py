"""PostgreSQL: Django's own backend, which finds out without a query that a connection is alive."""
