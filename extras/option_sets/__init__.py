"""Sets of three to five responses: rankings by judges and people, and cycles of choices."""
