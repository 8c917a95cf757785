"""Verification: a report computed again from the current answers, and every value compared."""
