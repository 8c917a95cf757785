"""Errors of reports; each message states what is wrong, where, and what to do."""


class AnalysisError(Exception):
    """Base of this app's errors."""


class BadParameters(AnalysisError):
    """A threshold, seed or number of resamples is out of range."""


class PlanIsFrozen(AnalysisError):
    """A plan was to be frozen for a study that has one."""


class ForeignFiles(AnalysisError):
    """A folder holds, under names that were to be written, what this program did not make."""


class NotShareable(AnalysisError):
    """A report was to be shared that is not done, or whose files are gone."""
