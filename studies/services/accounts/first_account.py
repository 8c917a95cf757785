"""The first account: made on a page, by whoever sees the terminal in which the server starts.

Its code is a keyed hash of the hour, so every process that has the site's secret key knows it and
nothing is stored. It works as long as there is no account, for one to two hours.
"""

import base64
import datetime as dt
import re

from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.utils.crypto import constant_time_compare, salted_hmac

from studies.errors import StudyError
from studies.statements import clock

_HOUR = 3600
_LENGTH = 12  # characters of five bits


def is_needed() -> bool:
    """Whether the site has no account yet."""
    return not User.objects.exists()


def new_code() -> tuple[str, dt.datetime]:
    """The code of this hour in groups of four, and when it expires."""
    hour = _this_hour()
    code = _code(hour)
    groups = "-".join(code[n : n + 4] for n in range(0, _LENGTH, 4))
    return groups, dt.datetime.fromtimestamp((hour + 2) * _HOUR, tz=dt.UTC)


def sentence(code: str, until: dt.datetime) -> str:
    """What the terminal says about the code."""
    return (
        f"There is no account yet. The page asks for this code: {code} "
        f"(works once, until {until:%H:%M} UTC)\n\n"
    )


def is_right(code: str) -> bool:
    """Whether `code` is that of this hour or the one before; dashes and case do not matter."""
    typed = re.sub(r"[^A-Z0-9]", "", code.upper())
    hour = _this_hour()
    # Both are compared, so that the time says nothing.
    matches = [constant_time_compare(typed, _code(period)) for period in (hour, hour - 1)]
    return any(matches)


@transaction.atomic
def create(user: User) -> None:
    """Store `user` as the administrator. Raises `StudyError` if there is an account by now."""
    # Two people may send the code at once. Every database has this row, and nothing else locks it.
    rows = ContentType.objects.select_for_update(no_key=True)
    rows.get(app_label="auth", model="user")
    if not is_needed():
        raise StudyError("Somebody has made the first account in the meantime. Sign in with it.")
    user.is_staff = user.is_superuser = True
    user.save()


def _this_hour() -> int:
    return int(clock.now().timestamp()) // _HOUR


def _code(hour: int) -> str:
    digest = salted_hmac("studies.first_account", str(hour), algorithm="sha256").digest()
    return base64.b32encode(digest).decode()[:_LENGTH]
