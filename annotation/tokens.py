"""Signed assignment tokens: what a form carries, so that a resend survives an expired cookie."""

from django.core import signing

from annotation.models import Assignment

_SALT = "annotation.assignment"


def assignment_token(assignment: Assignment) -> str:
    """What the hidden field `assignment` holds; only this installation can make one."""
    return signing.dumps([assignment.annotator_id, assignment.pk], salt=_SALT)


def read_assignment_token(token: str) -> tuple[int, int]:
    """Return (annotator id, assignment id); raises `signing.BadSignature` on anything else."""
    annotator_id, assignment_id = signing.loads(token, salt=_SALT)
    return annotator_id, assignment_id
