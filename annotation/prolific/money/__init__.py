"""What was paid and set aside on Prolific, next to what Prolific says of it."""
