"""Researchers' pages about webhooks."""
