"""Researchers' pages for reports, plans, share links and exports."""
