"""Signed tokens in forms: of starts, and of the time a page was shown.

A start's token prevents a second press of the button from creating a second annotator.
"""

import datetime as dt

from django.core import signing

from annotation.models import random_code
from studies.statements import clock

_START = "annotation.start"
_SHOWN = "annotation.shown"


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
