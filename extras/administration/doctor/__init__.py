"""Checks of an installation's data and files by `doctor`, and repairs of what can be derived."""
