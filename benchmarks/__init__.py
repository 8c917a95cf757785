"""Measurements, never tests: `make bench` runs them all."""
