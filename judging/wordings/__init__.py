"""Wordings of a study's own: recovered from released files, or written; checked and versioned."""
