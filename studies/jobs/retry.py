"""Queueing of abandoned jobs again, a limited number of times."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any, TypeVar

from studies.jobs.models import WAITING, Job
from studies.statements import clock

J = TypeVar("J", bound=Job)
MAX_ATTEMPTS = 3


def same_job(jobs: Iterable[J], task: Any) -> J | None:
    """The first of `jobs` that has not ended, so that pressing a button twice asks once.

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


def queue_again(job: J) -> bool:
    """Put a stalled job back into the queue; the caller sends its message.

    Returns False if another process was faster, or if the job has ended its workers too often: it
    has then failed.
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
    # The heartbeat that was read is part of the condition, so that a living worker keeps its job.
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
    """Whether a job whose result is kept up to date is to be done again, now that it is looked at.

    It is if it never ended, if it stalled, or if it ended longer ago than `after`.
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
