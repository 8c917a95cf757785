"""Reports compared value by value: with one that is computed again, or two versions."""
