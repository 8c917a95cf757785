"""Simulated data with known truth, checks of what statistics promise, and reference cases."""
