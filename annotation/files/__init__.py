"""Import and export of answers as files."""
