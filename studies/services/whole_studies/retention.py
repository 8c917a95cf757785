"""Retention: dates on which data of a study is deleted, and the backups that outlast it."""

import datetime as dt
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from studies.models import Backup, Retention, Study, StudyLog
from studies.services.studies import check_seen, lock_study, record, seen_of
from studies.statements import clock

WARNED_DAYS = 14


@dataclass(frozen=True)
class Deletion:
    """A deletion that comes by itself."""

    what: str
    on: dt.date
    obstacle: str = ""

    @property
    def is_near(self) -> bool:
        return (self.on - clock.now().date()).days <= WARNED_DAYS


def seen_dates(study: Study) -> str:
    """The hash of the dates that a form shows."""
    dates = Retention.objects.filter(study=study).values_list("identities_days", "delete_on")
    return seen_of(*map(str, dates))


@transaction.atomic
def set_retention(
    *,
    study_id: int,
    identities_days: int | None,
    delete_on: dt.date | None,
    seen: str | None = None,
    user: User,
) -> None:
    """Store when data is deleted; nothing set keeps everything.

    Raises `StaleVersion` if the dates are not those whose `seen_dates` a form showed.
    """
    study = lock_study(study_id)
    check_seen(study, seen, seen_dates(study), what="the dates of deletion")
    chosen = {"identities_days": identities_days, "delete_on": delete_on}
    Retention.objects.update_or_create(
        study=study, defaults={**chosen, "set_by": user, "obstacle": ""}
    )
    on = delete_on.isoformat() if delete_on else None
    record(study, "retention set", user=user, identities_days=identities_days, delete_on=on)


def planned(study: Study) -> list[Deletion]:
    """The deletions of a study that come by themselves, the next first."""
    retention = Retention.objects.filter(study=study).first()
    if retention is None:
        return []
    found = []
    if (on := identities_due(study, retention)) is not None:
        found.append(Deletion("the platform’s ids of its annotators", on, retention.obstacle))
    if (on := retention.delete_on) is not None:
        found.append(Deletion("the study with everything in it", on, retention.obstacle))
    return sorted(found, key=lambda deletion: deletion.on)


def identities_due(study: Study, retention: Retention) -> dt.date | None:
    """The day when the ids of a closed study are deleted; None before it is closed."""
    if retention.identities_days is None or study.state != Study.State.CLOSED:
        return None
    closings = StudyLog.objects.filter(study=study, event="state", detail__after="closed")
    closed = closings.order_by("-created_at").values_list("created_at", flat=True).first()
    began = (closed or retention.created_at).date()
    return began + dt.timedelta(days=retention.identities_days)


def backups_with(study: Study) -> QuerySet[Backup]:
    """The backups that were made since the study exists: deleting it does not change them."""
    return Backup.objects.filter(taken_at__gte=study.created_at)


def backups_sentence(study: Study) -> str:
    """What the backups still hold, in a sentence."""
    found = backups_with(study)
    number = found.count()
    if not number:
        return "No backup that was made here holds this study."
    newest = found.latest("taken_at")
    files = "1 backup was" if number == 1 else f"{number:,} backups were"
    return (
        f"{files} made here since this study exists and may still hold its data. The newest is of "
        f"{newest.taken_at:%Y-%m-%d}. The administrator of this server has their list."
    )
