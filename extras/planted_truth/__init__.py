"""Simulated data whose truth is known, promises of the statistics about it, and reference cases."""
