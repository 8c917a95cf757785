"""Signed tokens in forms, for assignments and for starts.

The token of an assignment allows sending an answer again after the cookie has expired. The token of
a start prevents a second press of the button from creating a second annotator.
"""

import datetime as dt
from dataclasses import dataclass

from django.core import signing

from annotation.models import Assignment, random_code

_SALT = "annotation.assignment"
_START = "annotation.start"


@dataclass(frozen=True)
class AssignmentToken:
    annotator_id: int
    assignment_id: int
    shown_at: dt.datetime


def assignment_token(assignment: Assignment, *, shown_at: dt.datetime) -> str:
    """The value of the hidden field `assignment`; only this installation can create one."""
    shown_ms = round(shown_at.timestamp() * 1000)
    return signing.dumps([assignment.annotator_id, assignment.pk, shown_ms], salt=_SALT)


def read_assignment_token(token: str) -> AssignmentToken:
    """Read a token; raises `signing.BadSignature` if this installation did not create it."""
    annotator_id, assignment_id, shown_ms = signing.loads(token, salt=_SALT)
    shown_at = dt.datetime.fromtimestamp(shown_ms / 1000, tz=dt.UTC)
    return AssignmentToken(annotator_id, assignment_id, shown_at)


def start_token() -> str:
    """The token of a start page: a resume code that no annotator has yet."""
    return signing.dumps(random_code(10), salt=_START)


def read_start_token(token: str) -> str:
    """The code of a start page; empty if this installation did not create it."""
    try:
        return str(signing.loads(token, salt=_START))
    except signing.BadSignature:
        return ""
