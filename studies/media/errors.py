"""Why a file is not taken as a picture or sound."""


class BadMedia(Exception):
    """What is wrong with a file, as a sentence that its name begins, and what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message, self.remedy = message, remedy
        super().__init__(message)
