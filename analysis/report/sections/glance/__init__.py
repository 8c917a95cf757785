"""The chapter “What was found”: headline, claims and accuracies."""
