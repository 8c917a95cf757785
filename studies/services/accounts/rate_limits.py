"""Limits on the number of attempts, counted in the database that all servers share."""

import datetime as dt
import math
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from studies.statements import clock


@dataclass(frozen=True)
class Limit:
    """A number of attempts allowed within a time; the next one waits."""

    attempts: int
    within: dt.timedelta

    def wait(self, attempts: QuerySet[Any]) -> dt.timedelta | None:
        """The time until another attempt is allowed; None if one is allowed now.

        `attempts` are rows with a `created_at`.
        """
        now = clock.now()
        recent = attempts.filter(created_at__gt=now - self.within).order_by("-created_at")
        decisive = recent.values_list("created_at", flat=True)[self.attempts - 1 : self.attempts]
        return next((moment + self.within - now for moment in decisive), None)


def minutes(wait: dt.timedelta) -> int:
    """The time to wait in whole minutes, at least one."""
    return max(1, math.ceil(wait.total_seconds() / 60))
