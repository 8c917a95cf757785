"""Recount the paper's released result files and compare them with its tables."""
