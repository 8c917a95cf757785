"""Errors of exports."""

from analysis.errors import AnalysisError


class ExportError(AnalysisError):
    """An export was not written; no file is left."""


class BadChoice(ExportError):
    """The chosen options cannot be combined."""
