"""The schedule's cleanup once a minute: restart stalled jobs, delete expired files."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from django.utils import timezone

from studies.jobs.models import Job
from studies.jobs.retry import queue_again

J = TypeVar("J", bound=Job)
# A draft folder that nothing has written to for this long is deleted.
_LEFTOVER_SECONDS = 86_400


def tidy_jobs(jobs: type[J], task: Any, *, folder_of: Callable[[J], Path] | None = None) -> None:
    """Queue stalled jobs again, delete the files of failed and expired ones. Safe to repeat."""
    for job in jobs._default_manager.filter(state__in=Job.OPEN):
        if not job.is_stalled:
            continue
        if queue_again(job):
            task.delay(job.pk)
        elif folder_of is not None and jobs._default_manager.filter(
            pk=job.pk, state=Job.State.FAILED
        ):
            shutil.rmtree(folder_of(job), ignore_errors=True)
    if folder_of is not None:
        _expire(jobs, folder_of)


def _expire(jobs: type[J], folder_of: Callable[[J], Path]) -> None:
    for job in jobs._default_manager.filter(state=Job.State.DONE, expires_at__lte=timezone.now()):
        # The row first, so that a reader finds no half-deleted file.
        jobs._default_manager.filter(pk=job.pk, state=Job.State.DONE).update(
            state=Job.State.GONE, message="Expired."
        )
        shutil.rmtree(folder_of(job), ignore_errors=True)


def remove_drafts(folder: Path) -> None:
    """Delete draft folders in `folder` that a killed worker left a day ago or earlier."""
    for draft in folder.glob(".*"):
        if time.time() - draft.stat().st_mtime > _LEFTOVER_SECONDS:
            shutil.rmtree(draft, ignore_errors=True)
