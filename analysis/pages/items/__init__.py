"""Researchers' pages about items: audit, disagreements, one item, and the draw."""
