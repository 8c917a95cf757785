"""Judges compared with one another: whether any differ, which pairs, and possible ranks."""
