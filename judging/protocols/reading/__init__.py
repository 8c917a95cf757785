"""Lenient reading: the verdict in a reply that does not keep to the form, in five languages."""
