"""The database's clock, with which every lease, heartbeat, limit and due time is compared.

The clocks of several machines differ, and one of a machine can jump.
"""

import datetime as dt
import time
from functools import cache
from typing import Any

from django.core.exceptions import SynchronousOnlyOperation
from django.db import DatabaseError, InterfaceError, connection, models
from django.db.models import Q
from django.utils import timezone

MOST_APART = dt.timedelta(seconds=10)
# For this long, the time is counted from the last reading.
_READ_AGAIN_AFTER = 10.0
_read: tuple[float, dt.datetime] | None = None


def now() -> dt.datetime:
    """The time by the database's clock. SQLite has no clock, but runs on one machine."""
    global _read
    if _is_of_this_machine():
        return dt.datetime.fromtimestamp(time.time(), dt.UTC)
    if _read is None or time.monotonic() - _read[0] > _READ_AGAIN_AFTER:
        try:
            moment = ask()
            _read = (time.monotonic(), moment)
        except (DatabaseError, InterfaceError, SynchronousOnlyOperation):
            if _read is None:
                raise
    since, moment = _read
    return moment + dt.timedelta(seconds=time.monotonic() - since)


@cache
def _is_of_this_machine() -> bool:
    """Whether the database is SQLite; a page asks for the time seven times."""
    return connection.vendor == "sqlite"


def ask() -> dt.datetime:
    """Ask below Django's cursor, so that it does not count as a query of the request."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    with connection.wrap_database_errors, connection.connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: dt.datetime = cursor.fetchone()[0]
    return moment.astimezone(dt.UTC)


def ahead() -> dt.timedelta:
    """How far the clock of this machine is ahead of the database's; negative if it is behind."""
    return timezone.now() - now()


def wrong_clock() -> str:
    """An error sentence if this machine's clock differs from the database's, otherwise nothing."""
    difference = ahead()
    if abs(difference) <= MOST_APART:
        return ""
    which = "ahead of" if difference > dt.timedelta() else "behind"
    seconds = abs(difference).total_seconds()
    return (
        f"The clock of this machine is {seconds:,.0f} seconds {which} that of the database. "
        "Synchronise both with a time server (for example by systemd-timesyncd), then restart the "
        "processes."
    )


def is_long_ago(moment: dt.datetime, limit: dt.timedelta) -> bool:
    """Whether a stored moment is further back than `limit`.

    One in the future was stored while a clock was ahead, and counts as long ago.
    """
    return not (now() - limit <= moment <= now() + MOST_APART)


def long_ago(field: str, limit: dt.timedelta) -> Q:
    """`is_long_ago` of a column."""
    moment = now()
    return Q(**{f"{field}__lt": moment - limit}) | Q(**{f"{field}__gt": moment + MOST_APART})


def has_ended(field: str, longest: dt.timedelta) -> Q:
    """Whether a term of at most `longest` is over, or ends later, as a wrong clock stored it."""
    moment = now()
    return Q(**{f"{field}__lte": moment}) | Q(**{f"{field}__gt": moment + longest + MOST_APART})


class MomentField(models.DateTimeField):
    """A time whose default is the database's clock. For migrations it is Django's own field."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        if add and self.auto_now_add:
            setattr(model_instance, self.attname, now())
            return getattr(model_instance, self.attname)
        return super().pre_save(model_instance, add)

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        if kwargs.get("default") is now:
            kwargs["default"] = timezone.now
        return name, "django.db.models.DateTimeField", args, kwargs
