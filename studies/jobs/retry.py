"""A job after its request: shown on a page, queued again if its worker died, deleted in the end."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from django.db.models import QuerySet
from django.http import JsonResponse

from studies.jobs.models import MESSAGE_AFTER, WAITING, Job
from studies.jobs.queueing import failures
from studies.statements import clock


@dataclass(frozen=True)
class Retry:
    """The button below an ended or stalled job; posts `fields` to `url`, or links there."""

    url: str
    label: str = "Try again"
    fields: Mapping[str, Any] = field(default_factory=dict)
    is_link: bool = False
    about: str = ""  # for screen readers, if a page has several such buttons


def job_status(job: Job | None) -> JsonResponse:
    """The response that a page polls while it follows a job."""
    if job is None:
        return JsonResponse({"progress": 100, "message": "", "open": False})
    return JsonResponse({"progress": job.progress, "message": job.sentence, "open": job.is_open})


J = TypeVar("J", bound=Job)
MAX_ATTEMPTS = 3


def same_job(jobs: Iterable[J], task: Any) -> J | None:
    """The first open one of `jobs`, so that pressing a button twice creates one job.

    A stalled one is queued again.
    """
    for job in jobs:
        if job.is_stalled:
            if queue_again(job):
                task.delay_on_commit(job.pk)
            job.refresh_from_db()
        if job.is_open:
            return job
    return None


def waiting_job(jobs: QuerySet[J]) -> J | None:
    """The job that a command can do itself: no worker has started it, or its worker died."""
    for job in jobs.filter(state__in=Job.OPEN):
        if job.is_stalled:
            queue_again(job)
            job.refresh_from_db()
        if job.state == Job.State.QUEUED:
            return job
    return None


def queue_again(job: J) -> bool:
    """Put a stalled job back into the queue; the caller sends its message.

    Returns False if another process was faster, or if too many workers died from the job: it has
    then failed.
    """
    is_given_up = job.attempts >= MAX_ATTEMPTS
    state = Job.State.FAILED if is_given_up else Job.State.QUEUED
    message = WAITING
    if is_given_up:
        message = (
            f"The worker was stopped {MAX_ATTEMPTS} times. The server may be short of memory or "
            "disk space. The log of the worker has the details."
        )
    elif job.attempts:
        message = f"The worker was stopped. {WAITING}"
    now = clock.now()
    # The condition includes the heartbeat that was read, so that a living worker keeps its job.
    changed = type(job)._default_manager.filter(
        pk=job.pk, state=job.state, heartbeat_at=job.heartbeat_at
    )
    moved = changed.update(
        state=state,
        message=message,
        heartbeat_at=now,
        finished_at=now if is_given_up else None,
    )
    return bool(moved) and not is_given_up


def is_due(job: Job, *, after: timedelta) -> bool:
    """Whether to repeat a job whose result is kept up to date, now that somebody looks at it.

    Yes if it never ended, stalled, or ended longer ago than `after`.
    """
    if job.is_open:
        return job.is_stalled
    return job.finished_at is None or clock.is_long_ago(job.heartbeat_at, after)


def start_over(job: J) -> bool:
    """Queue a job from the beginning, whatever its state; the caller sends its message.

    Returns False if another process was faster.
    """
    same = type(job)._default_manager.filter(
        pk=job.pk, state=job.state, heartbeat_at=job.heartbeat_at
    )
    return bool(
        same.update(
            state=Job.State.QUEUED,
            message=WAITING,
            attempts=0,
            progress=0,
            heartbeat_at=clock.now(),
        )
    )


logger = logging.getLogger(__name__)
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

    The job's heartbeat does not change: it says since when the job waits.
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
        # The row changes first, so that nobody finds half-deleted files.
        jobs._default_manager.filter(pk=job.pk, state=Job.State.DONE).update(
            state=Job.State.GONE, message="Expired."
        )
        folder_of(job).delete()
