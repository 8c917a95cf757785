"""The chapter on groups: topics, personas, and cross-group accuracy."""
