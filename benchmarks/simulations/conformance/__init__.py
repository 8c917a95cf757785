"""Reference cases of statistics, for other programs too."""
