"""What a worker does with a job: take it up, tell how far it is, end it."""

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.utils import timezone

from analysis.errors import AnalysisError
from analysis.models import Job

logger = logging.getLogger(__name__)

J = TypeVar("J", bound=Job)
Progress = Callable[[int, str], None]


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
