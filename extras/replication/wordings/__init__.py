"""Wordings of the prompts that released result files carry."""
