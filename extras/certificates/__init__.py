"""Certificates: for which items a judge may replace people, labels by them, and rechecks later."""
