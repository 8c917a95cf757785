"""Errors of reports and exports; each message states what is wrong, where, and what to do."""


class AnalysisError(Exception):
    """Base of this app's errors."""


class NoSuchStudy(AnalysisError):
    """There is no study of this name."""


class BadParameters(AnalysisError):
    """A threshold, seed or number of resamples is out of range."""


class PlanIsFrozen(AnalysisError):
    """A study already has a frozen plan."""


class ForeignFiles(AnalysisError):
    """A folder already has a file of this name from another source."""


class ExportError(AnalysisError):
    """An export could not be written; no file is left behind."""


class BadChoice(ExportError):
    """The chosen options cannot be combined."""
