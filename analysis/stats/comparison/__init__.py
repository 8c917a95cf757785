"""Comparison of two or more sides."""
