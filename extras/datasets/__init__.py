"""Importers of data sets that others released."""
