"""Selection of answers with a guarantee on their share of errors."""
