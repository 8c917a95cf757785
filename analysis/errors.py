"""What can go wrong with a report; the message says what, where and how to mend it."""


class AnalysisError(Exception):
    """Base of this app's errors."""


class BadParameters(AnalysisError):
    """A report was asked for with a threshold, seed or resample count that makes no sense."""


class PlanIsFrozen(AnalysisError):
    """A plan was to be frozen for a study that has one."""


class NotOurs(AnalysisError):
    """A folder holds, under names that were to be written, what this program did not make."""


class NotShareable(AnalysisError):
    """A report was to be shared that is not done, or whose files are gone."""
