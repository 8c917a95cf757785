"""The researcher's pages of studies, items, settings and accounts."""
