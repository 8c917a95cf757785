"""Statistics and report chapters that few studies need: insight, criteria, disagreement."""
