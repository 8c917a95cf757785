"""What a stated certainty is worth."""
