"""Recipes: a published comparison of models as a file, repeated with any models."""
