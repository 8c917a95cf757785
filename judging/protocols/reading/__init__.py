"""Lenient reading: the verdict in a reply that does not keep to the form, in five languages."""

# Raised by one whenever a reply can be read otherwise than before: answers that were read by
# another version are not mixed with new ones.
READING_VERSION = 2
