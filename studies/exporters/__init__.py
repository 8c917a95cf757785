"""Writing of files: items, and the one writer of CSV files."""
