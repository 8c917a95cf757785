"""Packs: the requests of a run as files that are answered elsewhere, and reading their replies."""
