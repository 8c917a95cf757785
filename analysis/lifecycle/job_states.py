"""What a worker does with a job: take it up, tell how far it is, end it."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import DatabaseError, connection
from django.db.models import QuerySet
from django.utils import timezone

from analysis.errors import AnalysisError
from analysis.models.reports import Job

logger = logging.getLogger(__name__)

J = TypeVar("J", bound=Job)
Progress = Callable[[int, str], None]
_EVERY_SECONDS = 10.0


def carry_out(jobs: type[J], job_id: int, work: Callable[[J, Progress], Mapping[str, Any]]) -> J:
    """Do `work` for a queued job; the fields that it returns are stored and the job is done.

    Safe to repeat: a finished job stays as it is, and one that a killed worker left behind begins
    anew. What goes wrong is stored with the job as a sentence, and raised only where it is a fault
    of the program.
    """
    rows = jobs._default_manager.filter(pk=job_id)
    rows.filter(state__in=["queued", "running"]).update(
        state=Job.State.RUNNING, moved_at=timezone.now()
    )
    job = rows.get()
    if job.state != Job.State.RUNNING:
        return job
    running = rows.filter(state=Job.State.RUNNING)

    def on_progress(percent: int, sentence: str) -> None:
        running.update(progress=percent, message=sentence, moved_at=timezone.now())

    def fail(sentence: str) -> None:
        running.update(state=Job.State.FAILED, message=sentence, finished_at=timezone.now())

    try:
        with _signs_of_life(running):
            found = work(job, on_progress)
    except (AnalysisError, OSError) as error:
        fail(str(error))
    except Exception as error:
        fail(
            f"{job.undone}: {type(error).__name__}. The worker's log has the details; your "
            "answers are untouched."
        )
        logger.exception("%s %s failed", jobs.__name__.lower(), job_id)
        raise
    else:
        running.update(
            state=Job.State.DONE,
            progress=100,
            message="Done.",
            finished_at=timezone.now(),
            **found,
        )
    job.refresh_from_db()
    return job


@contextmanager
def _signs_of_life(running: QuerySet[J]) -> Iterator[None]:
    """Say every ten seconds that the worker is there, however long one step of the work takes.

    By a thread, and so a connection, of its own: what is silent has lost its worker. Inside a
    transaction it would wait for that to end, and nobody would see what it says.
    """
    if connection.in_atomic_block:
        yield
        return
    ended = threading.Event()

    def tell() -> None:
        try:
            while not ended.wait(_EVERY_SECONDS):
                try:
                    running.update(moved_at=timezone.now())
                except DatabaseError:
                    # The next time may find it again; the work itself is not in danger.
                    logger.warning("a sign of life could not be stored")
        finally:
            connection.close()

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
