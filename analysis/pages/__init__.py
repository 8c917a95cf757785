"""Researchers' pages for reports and exports."""
