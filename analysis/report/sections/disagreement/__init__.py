"""Disagreement: what is possible where people differ, and distances from all answers."""
