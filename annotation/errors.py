"""Errors during an annotator's part; nothing is stored when one is raised."""

import datetime as dt


class AnnotationError(Exception):
    """Base of this app's errors."""


class StudyNotOpen(AnnotationError):
    """The study is a draft, paused or closed."""

    def __init__(self, state: str) -> None:
        super().__init__(f"the study is {state}")
        self.state = state


class NoItems(StudyNotOpen):
    """The study has no items to judge yet."""


class EntryRefused(AnnotationError):
    """The id is refused: it is malformed, an unfilled placeholder, or not invited."""


class OtherDevice(EntryRefused):
    """The id is known, but this browser cannot show that it belongs to its annotator."""


class TooManyStarts(AnnotationError):
    """Too many annotators started, or too many ids were tried, from one address or in one study.

    `wait` is the time until the next start.
    """

    def __init__(self, wait: dt.timedelta) -> None:
        super().__init__(f"too many starts; the next one in {wait}")
        self.wait = wait


class TookPartBefore(AnnotationError):
    """The annotator took part in a related study, which excludes them from this one."""


class WrongStep(AnnotationError):
    """The annotator's state does not allow this step; show their current step."""


class AlreadyEnded(WrongStep):
    """The annotator's part has ended: show its ending page."""


class InvalidAnswer(AnnotationError):
    """The answer does not fit the study: a tie that is not offered, a certainty out of range."""


class DraftChanged(AnnotationError):
    """Another tab or device has changed the item's content since this page read it."""


class Unfinished(AnnotationError):
    """Items are still unanswered."""

    def __init__(self, missing: int) -> None:
        super().__init__(f"{missing} items are still unanswered")
        self.missing = missing


class QuotaError(AnnotationError):
    """The quota groups do not fit together; the message says how to fix them."""


class ComprehensionError(AnnotationError):
    """The comprehension questions cannot be used; the message says how to fix them."""


class InvitationError(AnnotationError):
    """Ids cannot be added to a study's list; the message says how to fix them, naming none."""


class PlacesError(AnnotationError):
    """Places cannot be changed as requested; the message says why and what to do."""


class ItemError(AnnotationError):
    """An item cannot be taken out or put back; the message says why."""
