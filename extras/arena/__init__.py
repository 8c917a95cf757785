"""A live arena: systems answer while people take part, and people rank them blind."""
