"""Frozen sets of items that a judge is asked about again, to see whether it or its world moved."""
