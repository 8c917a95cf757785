"""How robust a verdict is to pasted answers, and how many independent judges a jury is worth."""
