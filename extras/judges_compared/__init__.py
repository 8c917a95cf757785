"""Runs compared: which judges differ, what wordings explain, and how much each is like a person."""
