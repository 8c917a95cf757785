"""Operating an installation: where its files are, and deletions on their dates."""
