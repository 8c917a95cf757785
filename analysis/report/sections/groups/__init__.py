"""The chapter on groups: topics, personas, and who judges whom."""
