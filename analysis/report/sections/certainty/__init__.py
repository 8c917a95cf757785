"""The chapter on certainty: how each side uses it, and what it is worth."""
