"""Researchers' pages for reports, plans and exports."""
