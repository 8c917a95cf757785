"""Benchmarks that are tested."""
