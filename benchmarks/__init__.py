"""Measurements, not tests: `make bench` runs them all."""
