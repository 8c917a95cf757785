"""Limits on how often something may be tried, counted in the database that all servers share."""

import datetime as dt
import math
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone


@dataclass(frozen=True)
class Limit:
    """So many attempts within this time; the next one waits."""

    attempts: int
    within: dt.timedelta

    def wait(self, attempts: QuerySet[Any]) -> dt.timedelta | None:
        """How long until another attempt is let through; None where one is now.

        `attempts` are rows with a `created_at`.
        """
        now = timezone.now()
        recent = attempts.filter(created_at__gt=now - self.within).order_by("-created_at")
        decisive = recent.values_list("created_at", flat=True)[self.attempts - 1 : self.attempts]
        return next((moment + self.within - now for moment in decisive), None)


def minutes(wait: dt.timedelta) -> int:
    """The time to wait in whole minutes, at least one."""
    return max(1, math.ceil(wait.total_seconds() / 60))
