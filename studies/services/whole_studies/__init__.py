"""Whole studies: copies, the archive, retention dates, deletion, and people no longer shown."""
