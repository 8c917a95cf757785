"""Simulations with a known truth that check what statistics promise, and reference cases."""
