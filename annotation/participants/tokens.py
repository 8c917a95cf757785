"""Signed tokens in forms: of assignments, of starts, and of the time a page was shown.

An assignment's token lets an answer be sent after the cookie has expired. A start's token prevents
a second press of the button from creating a second annotator.
"""

import datetime as dt
from dataclasses import dataclass

from django.core import signing

from annotation.models import Assignment, random_code
from studies.statements import clock

_SALT = "annotation.assignment"
_START = "annotation.start"
_SHOWN = "annotation.shown"


@dataclass(frozen=True)
class AssignmentToken:
    """An item as it was shown; `earlier_ms` is the active time of earlier visits to it."""

    annotator_id: int
    assignment_id: int
    shown_at: dt.datetime
    earlier_ms: int


def assignment_token(assignment: Assignment, *, shown_at: dt.datetime, earlier_ms: int = 0) -> str:
    """The value of the hidden field `assignment`; only this installation can create one."""
    shown_ms = round(shown_at.timestamp() * 1000)
    return signing.dumps([assignment.annotator_id, assignment.pk, shown_ms, earlier_ms], salt=_SALT)


def read_assignment_token(token: str) -> AssignmentToken:
    """Read a token; raises `signing.BadSignature` if this installation did not create it."""
    annotator_id, assignment_id, shown_ms, *earlier_ms = signing.loads(token, salt=_SALT)
    shown_at = dt.datetime.fromtimestamp(shown_ms / 1000, tz=dt.UTC)
    return AssignmentToken(annotator_id, assignment_id, shown_at, *(earlier_ms or [0]))


def shown_token() -> str:
    """The token of the time at which a page without an assignment is shown."""
    return signing.dumps(clock.now().timestamp(), salt=_SHOWN)


def read_shown_token(token: str) -> dt.datetime | None:
    """When the page was shown; None if this installation did not create the token."""
    try:
        return dt.datetime.fromtimestamp(signing.loads(token, salt=_SHOWN), tz=dt.UTC)
    except signing.BadSignature:
        return None


def start_token() -> str:
    """The token of a start page: a resume code that no annotator has yet."""
    return signing.dumps(random_code(10), salt=_START)


def read_start_token(token: str) -> str:
    """The code of a start page; empty if this installation did not create it."""
    try:
        return str(signing.loads(token, salt=_START))
    except signing.BadSignature:
        return ""
