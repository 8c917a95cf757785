"""Measure how many annotators at once a server carries: simulated ones, on a copy of a study."""
