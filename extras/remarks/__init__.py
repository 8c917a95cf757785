"""Remarks at items: flags, second choices, and guesses about what others choose."""
