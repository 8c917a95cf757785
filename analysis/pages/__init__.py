"""Researchers' pages for reports, share links and exports."""
