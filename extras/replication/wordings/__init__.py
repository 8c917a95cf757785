"""Wordings recovered from prompts in released result files."""
