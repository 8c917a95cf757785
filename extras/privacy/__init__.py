"""A person’s request: show what is stored of them, correct it, withdraw or delete it."""
