"""The chapter on certainty: how each side uses it, and how well it predicts right answers."""
