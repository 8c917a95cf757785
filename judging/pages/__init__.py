"""Researchers' pages for judges, runs and campaigns."""
