"""What can go wrong with a study; the message says what, where and how to mend it."""


class StudyError(Exception):
    """Base of this app's errors."""


class ImportRefused(StudyError):
    """A file was not imported; nothing of it was stored."""


class FrozenStudy(StudyError):
    """The change would alter what people or models have already answered."""


class StaleVersion(StudyError):
    """Somebody else saved the study in the meantime."""


class BadOption(StudyError):
    """An option of a data set is not there, or has a value that it cannot have."""

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(message)
