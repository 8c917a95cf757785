"""Recipes: published comparisons of models as files, to repeat with any models."""
