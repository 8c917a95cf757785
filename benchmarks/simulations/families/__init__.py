"""Checks, one module per family of statistics."""
