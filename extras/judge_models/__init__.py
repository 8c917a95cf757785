"""Models trained as judges, each with its own reply format."""
