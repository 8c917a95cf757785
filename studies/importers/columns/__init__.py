"""Files with columns of any names: guesses, the mapping to the item format, and reading by it."""
