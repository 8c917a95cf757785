"""Judges compared with one another and with people: which differ, and the tier of each."""
