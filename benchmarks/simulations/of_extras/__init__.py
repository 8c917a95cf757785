"""Promises of the statistics of extras, by the name of the extra."""
