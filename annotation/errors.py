"""What can go wrong on a person's way through a study; nothing was stored when one is raised."""

import datetime as dt


class AnnotationError(Exception):
    """Base of this app's errors."""


class StudyNotOpen(AnnotationError):
    """The study is a draft, paused or closed."""

    def __init__(self, state: str) -> None:
        super().__init__(f"the study is {state}")
        self.state = state


class NoItems(StudyNotOpen):
    """The study has nothing to judge yet."""


class EntryRefused(AnnotationError):
    """The id is not one that may enter: malformed, an unfilled placeholder, not invited."""


class TooManyStarts(AnnotationError):
    """Too many people started from one address; `wait` is how long until the next one may."""

    def __init__(self, wait: dt.timedelta) -> None:
        super().__init__(f"too many starts from one address; the next one in {wait}")
        self.wait = wait


class TookPartBefore(AnnotationError):
    """The person took part in a study whose people this one does not take."""


class WrongStep(AnnotationError):
    """The person's state does not allow this step; show the step they are at."""


class AlreadyEnded(WrongStep):
    """The person's part is over: show the page of their ending."""


class InvalidAnswer(AnnotationError):
    """The answer does not fit the study: a tie that is not offered, a certainty out of range."""


class DraftChanged(AnnotationError):
    """Another tab or device has changed what stands at the item since this page read it."""


class Unfinished(AnnotationError):
    """Items are still unanswered."""

    def __init__(self, missing: int) -> None:
        super().__init__(f"{missing} items are still unanswered")
        self.missing = missing


class QuotaError(AnnotationError):
    """The quota groups do not fit together; the message says how to mend them."""


class ComprehensionError(AnnotationError):
    """The questions of a comprehension check cannot be used; the message says how to mend them."""


class InvitationError(AnnotationError):
    """Ids cannot be put on a study's list; the message says how to mend them, and names none."""


class PlacesError(AnnotationError):
    """Places cannot be changed as asked; the message says why and how to go on."""
