"""What a run asks: the messages about an item, and the hash of their wording."""
