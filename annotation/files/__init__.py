"""Answers in and out of files."""
