"""Packs: the questions of a run as files that are answered elsewhere, and raw replies."""
