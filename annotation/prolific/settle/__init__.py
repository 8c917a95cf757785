"""Approving, rejecting and paying."""
