"""Errors of reports; each message states what is wrong, where, and what to do."""

from collections.abc import Sequence


class AnalysisError(Exception):
    """Base of this app's errors."""


class BadParameters(AnalysisError):
    """A threshold, seed or number of resamples is out of range."""


class PlanIsFrozen(AnalysisError):
    """A study already has a frozen plan."""


class ForeignFiles(AnalysisError):
    """A folder already has a file of this name that this program did not make."""


class NotShareable(AnalysisError):
    """A report cannot be shared: it is not finished, or its files are deleted."""


class PassportError(AnalysisError):
    """Base of errors about certificates and passports."""


class BadPassport(PassportError):
    """A file is no passport, was changed, or does not belong to the judge."""


class NoSuchJudge(PassportError):
    """A study has no run of the judge, or several, and none was chosen."""


class HasMoved(PassportError):
    """The judge, its prompt or the items are not those that were certified."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("The certificate does not hold here. " + " ".join(reasons))
        self.reasons = list(reasons)


class NotWatchable(AnalysisError):
    """A comparison cannot be fixed: it is fixed already, or there are answers."""
