"""Judges whose model runs in the workers themselves, by torch and transformers."""
