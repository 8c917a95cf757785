"""Payments and reservations on Prolific, by our records and by Prolific's."""
