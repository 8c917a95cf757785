"""Protocols that ask for certainty in other ways than with the choice, as a number."""
