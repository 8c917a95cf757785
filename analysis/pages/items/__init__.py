"""The researcher's pages about items: audit, disagreements, one item, and which are drawn."""
