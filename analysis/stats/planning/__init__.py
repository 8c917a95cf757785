"""What a study can show before it has data, and what may be concluded while data come in."""
