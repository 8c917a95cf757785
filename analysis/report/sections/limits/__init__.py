"""The chapter on limits, and what was tested."""
