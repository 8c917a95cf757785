"""Certainty in more detail: its kinds, its value on other items, and like compared with like."""
