"""The chapter on accuracy: by certainty, on common items, and judges against one another."""
