"""Prolific's API: typed requests and errors by cause."""
