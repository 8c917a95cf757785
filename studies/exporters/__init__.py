"""Files out: items, and the one writer of CSV files."""
