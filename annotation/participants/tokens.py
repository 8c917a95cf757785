"""Signed tokens that forms carry: for an assignment, so that a resend survives an expired cookie;
for a start, so that a second press makes nobody twice."""

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
    """What the hidden field `assignment` holds; only this installation can make one."""
    shown_ms = round(shown_at.timestamp() * 1000)
    return signing.dumps([assignment.annotator_id, assignment.pk, shown_ms], salt=_SALT)


def read_assignment_token(token: str) -> AssignmentToken:
    """Read a token; raises `signing.BadSignature` on anything that is not one of ours."""
    annotator_id, assignment_id, shown_ms = signing.loads(token, salt=_SALT)
    shown_at = dt.datetime.fromtimestamp(shown_ms / 1000, tz=dt.UTC)
    return AssignmentToken(annotator_id, assignment_id, shown_at)


def start_token() -> str:
    """What a start page carries: a resume code that nobody has yet."""
    return signing.dumps(random_code(10), salt=_START)


def read_start_token(token: str) -> str:
    """The code of a start page; empty for anything that is not one of ours."""
    try:
        return str(signing.loads(token, salt=_START))
    except signing.BadSignature:
        return ""
