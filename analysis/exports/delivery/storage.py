"""Where finished exports lie, which of them a worker may take up, and when they go."""

import shutil
import time
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone

from analysis.models.exports import STALLED_AFTER, WAITING_AFTER, Export

MAX_ATTEMPTS = 3
# A copy that names people is fetched at once or not at all.
IDENTIFIED_LASTS = timedelta(days=1)
# Nobody has been writing for so long in a folder that has no name yet.
_LEFTOVER_SECONDS = 86_400


def export_dir(public_id: str) -> Path:
    return Path(settings.VAR_DIR) / "exports" / public_id


def remove_files(public_id: str) -> None:
    shutil.rmtree(export_dir(public_id), ignore_errors=True)


def tidy_exports() -> list[int]:
    """Delete what has expired; returns the ids of exports that a worker left behind.

    One that has been left behind too often is given up. Safe to repeat.
    """
    now = timezone.now()
    for export in Export.objects.filter(state=Export.State.DONE, expires_at__lte=now):
        Export.objects.filter(pk=export.pk, state=Export.State.DONE).update(
            state=Export.State.GONE, message="Expired."
        )
        remove_files(export.public_id)
    stalled = Export.objects.filter(
        Q(state=Export.State.RUNNING, moved_at__lte=now - STALLED_AFTER)
        | Q(state=Export.State.QUEUED, moved_at__lte=now - WAITING_AFTER)
    )
    stalled.filter(attempts__gte=MAX_ATTEMPTS).update(
        state=Export.State.FAILED,
        message=f"Its worker ended {MAX_ATTEMPTS} times. The worker's log has the details; "
        "perhaps there is too little memory or disk.",
        finished_at=now,
    )
    _remove_leftovers()
    return list(stalled.values_list("pk", flat=True))


def _remove_leftovers() -> None:
    """Folders that a killed worker was writing in."""
    for folder in export_dir("").glob(".*"):
        if time.time() - folder.stat().st_mtime > _LEFTOVER_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def claim(export_id: int) -> Export | None:
    """Take up an export that nobody is writing; None where somebody is, or it is over.

    One conditional UPDATE: of two workers that got the same message one writes.
    """
    now = timezone.now()
    free = Export.objects.filter(
        Q(state=Export.State.QUEUED)
        | Q(state=Export.State.RUNNING, moved_at__lte=now - STALLED_AFTER),
        pk=export_id,
    )
    taken = free.update(
        state=Export.State.RUNNING, moved_at=now, attempts=F("attempts") + 1, progress=0,
        message="Reading the study.",
    )  # fmt: skip
    return (
        Export.objects.select_related("study", "requested_by").get(pk=export_id) if taken else None
    )
