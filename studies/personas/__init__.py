"""A persona as text, and the named sets of its features."""
