"""Texts: normal form, Markdown, criteria, slots of a prompt, instructions to judges."""
