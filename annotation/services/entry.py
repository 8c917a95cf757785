"""Arriving, and coming back."""

from annotation.models import Annotator


def enter(
    *, study_id: int, pid: str, prolific_study_id: str = "", session_id: str = ""
) -> Annotator:
    """Find or make the annotator who is `pid` in the study; every session id is kept.

    Idempotent: reload, second tab and second device get the same person. Somebody new needs an
    open study; who is known comes back at any time and is shown where they stand.
    Raises `EntryRefused` (malformed or not invited) and `StudyNotOpen` (somebody new).
    """
    raise NotImplementedError


def enter_by_link(*, study_id: int, resume_code: str = "") -> Annotator:
    """Make an annotator with a random resume code, or find the one whose code is given.

    Raises `EntryRefused` when the code is unknown, `StudyNotOpen` for somebody new.
    """
    raise NotImplementedError


def resume(*, annotator_id: int) -> Annotator:
    """Take up again what timed out: the person is where they were, seats are taken if free."""
    raise NotImplementedError
