"""Simulated studies, their verdicts, and intervals that may be looked at after each answer."""
