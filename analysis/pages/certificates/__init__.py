"""Researchers' pages about certificates."""
