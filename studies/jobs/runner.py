"""A worker's part of a job: start it, store its progress, end it."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import DatabaseError, InterfaceError, connection
from django.db.models import F, QuerySet

from studies.jobs.models import Job
from studies.statements import clock


class JobProblem(Exception):
    """The work cannot be done; the message states why, and `fields` are stored with the job."""

    def __init__(self, message: str, **fields: Any) -> None:
        self.fields = fields
        super().__init__(message)


class JobStopped(Exception):
    """The job was deleted or taken by another worker while this one was working on it."""


logger = logging.getLogger(__name__)

J = TypeVar("J", bound=Job)
HEARTBEAT_SECONDS = 1.0


class JobProgress:
    """The progress of a job. Call it with a percentage and a sentence; a heartbeat stores them.

    Raises `JobStopped` once the job is deleted or has another worker.
    """

    def __init__(self, rows: QuerySet[Any]) -> None:
        self._rows = rows
        self._percent, self._sentence = 0, "Started."
        self._is_current = True
        self._lock = threading.Lock()
        # In a transaction of the caller, a thread would silently wait for its end.
        self.has_thread = not connection.in_atomic_block

    def __call__(self, percent: int, sentence: str) -> None:
        self._percent, self._sentence = percent, sentence
        if not self.has_thread:
            self.store()
        if not self._is_current:
            raise JobStopped

    def store(self) -> None:
        try:
            # One at a time, so that an earlier sentence never replaces a later one.
            with self._lock:
                stored = self._rows.update(
                    progress=self._percent, message=self._sentence, heartbeat_at=clock.now()
                )
        except (DatabaseError, InterfaceError):
            # The next heartbeat may succeed, and the work itself can continue.
            logger.warning("the progress of a job could not be stored")
            if self.has_thread:
                connection.close()  # Django reopens it only if it is closed on this side
        else:
            self._is_current = stored > 0


class Steps:
    """Counts the steps of a job, which are the first `share` percent of its work.

    Its methods are those of tqdm, so that the same loop can show progress in a terminal.
    """

    def __init__(
        self, progress: JobProgress, *, total: int, share: int, sentence: Callable[[int, int], str]
    ) -> None:
        self.total, self.done = total, 0
        self._progress, self._share, self._sentence = progress, share, sentence
        self._shown_at = 0.0

    def update(self, n: int = 1) -> None:
        self.done += n
        # Formatting a sentence for each of a million rows would take longer than writing them.
        if time.monotonic() - self._shown_at >= HEARTBEAT_SECONDS / 2:
            self._shown_at = time.monotonic()
            part = min(1.0, self.done / self.total) if self.total else 1.0
            self._progress(int(self._share * part), self._sentence(self.done, self.total))


def carry_out(
    jobs: type[J],
    job_id: int,
    work: Callable[[J, JobProgress], Mapping[str, Any]],
    *,
    expected: tuple[type[Exception], ...],
) -> J:
    """Do `work` for a queued job, and store the fields that it returns.

    A job that is not queued does not change, so only one of two workers with the same message
    works. The message of an `expected` error is stored with the job. Any other error is described
    in words there, and raised.
    """
    started = jobs._default_manager.filter(pk=job_id, state=Job.State.QUEUED).update(
        state=Job.State.RUNNING,
        attempts=F("attempts") + 1,
        progress=0,
        message="Started.",
        heartbeat_at=clock.now(),
    )
    job = jobs._default_manager.get(pk=job_id)
    if not started:
        return job
    # The attempt number prevents a worker that was given up from ending a newer attempt.
    rows = jobs._default_manager.filter(pk=job_id, state=Job.State.RUNNING, attempts=job.attempts)
    try:
        with _heartbeat(rows) as progress:
            report = work(job, progress)
    except JobStopped:
        logger.info("%s %s was stopped", jobs.__name__, job_id)
    except JobProblem as error:
        _end(rows, Job.State.FAILED, {"message": str(error), **error.fields})
    except expected as error:
        _end(rows, Job.State.FAILED, {"message": str(error)})
    except Exception as error:
        sentence = f"{job.failure}: {_in_words(error)}. {job.unharmed} "
        sentence += f"The worker's log has the details under “{jobs.__name__} {job_id}”."
        _end(rows, Job.State.FAILED, {"message": sentence})
        logger.exception("%s %s failed", jobs.__name__, job_id)
        raise
    else:
        _end(rows, Job.State.DONE, {"message": "Done.", "progress": 100, **report})
    job.refresh_from_db()
    return job


def _in_words(error: Exception) -> str:
    if isinstance(error, DatabaseError | InterfaceError):
        return "the database did not answer or refused a statement"
    if isinstance(error, MemoryError):
        return "there was not enough memory"
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return f"a file or a connection failed: {error.strerror}{where}"
    return "there is an error in the program"


def _end(rows: QuerySet[J], state: Job.State, fields: Mapping[str, Any]) -> None:
    now = clock.now()
    rows.update(state=state, finished_at=now, heartbeat_at=now, **fields)


@contextmanager
def _heartbeat(rows: QuerySet[J]) -> Iterator[JobProgress]:
    """Store the progress every second, however long a step takes.

    A thread with its own connection does this, because on SQLite a connection that is reading rows
    cannot write once another one has written.
    """
    progress = JobProgress(rows)
    if not progress.has_thread:
        yield progress
        return
    ended = threading.Event()

    def run() -> None:
        try:
            while not ended.wait(HEARTBEAT_SECONDS):
                progress.store()
        finally:
            connection.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        ended.set()
        thread.join()
