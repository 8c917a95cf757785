"""Keeping our records the same as Prolific's."""
