"""What can go wrong with an export."""

from analysis.errors import AnalysisError


class ExportError(AnalysisError):
    """An export was not written; nothing is left of it."""


class BadChoice(ExportError):
    """What was asked for does not go together."""


class ExportStopped(ExportError):
    """Somebody deleted the export while it was being written."""
