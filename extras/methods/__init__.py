"""Statistics and chapters of the report that few studies need: insight, criteria, other choices."""
