"""Cleanup by the schedule, every worker, and doctor: restart stalled jobs, delete expired files."""

import logging
import math
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from studies.jobs.models import MESSAGE_AFTER, Job
from studies.jobs.queueing import failures
from studies.jobs.retry import queue_again
from studies.statements import clock

logger = logging.getLogger(__name__)
J = TypeVar("J", bound=Job)
# When this process last sent the message of a waiting job again.
_sent: dict[tuple[type[Job], int], float] = {}


class Deletable(Protocol):
    """The files of a job."""

    def delete(self) -> None: ...


def tidy_jobs(
    jobs: type[J], task: Any, *, folder_of: Callable[[J], Deletable] | None = None
) -> None:
    """Queue stalled jobs again, delete the files of failed and expired ones. Safe to repeat."""
    for job in jobs._default_manager.filter(state__in=Job.OPEN):
        if not job.is_stalled:
            if job.may_have_lost_its_message and _is_time(job):
                _send(task, job)
        elif queue_again(job):
            _send(task, job)
        elif folder_of is not None and jobs._default_manager.filter(
            pk=job.pk, state=Job.State.FAILED
        ):
            folder_of(job).delete()
    if folder_of is not None:
        _expire(jobs, folder_of)


def _is_time(job: Job) -> bool:
    """Whether this process may send the message of a waiting job again.

    The job's heartbeat stays as it is, because it says since when the job waits.
    """
    key, now = (type(job), job.pk), time.monotonic()
    if now - _sent.get(key, -math.inf) < MESSAGE_AFTER.total_seconds():
        return False
    _sent[key] = now
    return True


def _send(task: Any, job: Job) -> None:
    try:
        task.delay(job.pk)
    except failures() as error:
        # It waits until the broker is back, and is then queued again.
        logger.warning("%s %s was not queued: %s", type(job).__name__, job.pk, error)


def _expire(jobs: type[J], folder_of: Callable[[J], Deletable]) -> None:
    for job in jobs._default_manager.filter(state=Job.State.DONE, expires_at__lte=clock.now()):
        # The row first, so that a reader finds no half-deleted file.
        jobs._default_manager.filter(pk=job.pk, state=Job.State.DONE).update(
            state=Job.State.GONE, message="Expired."
        )
        folder_of(job).delete()
