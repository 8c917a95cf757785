"""Runs, from a researcher's request to the rows of a run."""
