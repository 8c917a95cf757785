"""A study as a folder of files: settings, items, texts, and what other apps add."""
