"""Errors of studies; each message states what is wrong, where, and how to fix it."""

import datetime as dt


class StudyError(Exception):
    """Base of this app's errors."""


class UnknownStudy(StudyError):
    """No study has this short name."""

    def __init__(self, slug: str) -> None:
        self.slug = slug
        super().__init__(f"There is no study “{slug}”.")


class ImportRefused(StudyError):
    """A file was not imported; none of it was stored."""


class FrozenStudy(StudyError):
    """The change would alter the content of existing answers or judgments."""


class ExtraNeeded(StudyError):
    """An extra cannot be turned off now; the message says what has to end first."""


class OpeningRefused(StudyError):
    """A draft was not opened, because of its launch checks."""


class StaleVersion(StudyError):
    """Somebody else saved the study in the meantime."""


class BadOption(StudyError):
    """An option of a data set is unknown or has a value that is not allowed."""

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(message)


class TooManyAttempts(StudyError):
    """Too many attempts to sign in; `wait` is the time until the next attempt."""

    def __init__(self, wait: dt.timedelta) -> None:
        self.wait = wait
        super().__init__(f"too many attempts to sign in; the next one in {wait}")
