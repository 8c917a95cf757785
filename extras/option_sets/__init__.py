"""Sets of three to five responses: their rankings by judges and people, and circles of choices."""
