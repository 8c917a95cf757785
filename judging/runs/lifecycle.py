"""Extend, pause, resume and cancel the runs of a judge, and work one off in this process."""

import math
import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import QuerySet

from judging import deliveries
from judging.models import JudgeRun, Judgment
from judging.runs.spec import RunSpec
from judging.runs.start import extended, queue_run, retry_questions, start_run, wake
from judging.selectors import has_replies
from judging.worker import chunks, run_states, runtime
from judging.worker.runtime import outlive_restart
from judging.worker.unread import accept_unread, unread_of
from studies.services.studies import record

_POLL_SECONDS = 0.5


def extend_run(run: JudgeRun, spec: RunSpec, *, user: User | None = None) -> JudgeRun:
    """Extend a run by more items, samples, or the other order, asking only the new questions.

    Raises `BadRun` if it cannot continue as it began.
    """
    extended(run, spec)
    return start_run(spec, user=user)


@transaction.atomic
def pause_run(*, run_id: int, user: User | None = None) -> bool:
    """Pause a run, still storing replies in progress. False if there was nothing to pause."""
    return _end(run_id, JudgeRun.State.PAUSED, "Paused by hand. Resume it to continue.", user)


@transaction.atomic
def cancel_run(*, run_id: int, user: User | None = None) -> bool:
    """End a run permanently, keeping its judgments; False if it has already ended."""
    is_probe = JudgeRun.objects.filter(pk=run_id, probe_first=True).exists()
    cause = "Not started after its probe" if is_probe else "Cancelled by hand"
    sentence = f"{cause}; its judgments are kept."
    among = (*JudgeRun.ACTIVE, *JudgeRun.RESUMABLE)
    return _end(run_id, JudgeRun.State.CANCELLED, sentence, user, among=among)


def leave_out_run(*, run_id: int, user: User | None = None) -> bool:
    """Mark a run as not for the report; False if it already is."""
    return _mark(run_id, user, in_report=False)


def take_back_run(*, run_id: int, user: User | None = None) -> bool:
    """Let reports use a run again; False if they do."""
    return _mark(run_id, user, in_report=True)


def _mark(run_id: int, user: User | None, *, in_report: bool) -> bool:
    if not JudgeRun.objects.filter(pk=run_id, in_report=not in_report).update(in_report=in_report):
        return False
    run = JudgeRun.objects.select_related("study").get(pk=run_id)
    event = run.TAKEN_BACK if in_report else run.LEFT_OUT
    record(run.study, event, user=user, run=run.public_id)
    return True


def _end(
    run_id: int,
    state: str,
    sentence: str,
    user: User | None,
    *,
    among: Collection[str] = JudgeRun.ACTIVE,
) -> bool:
    if not run_states.stop(run_id=run_id, state=state, sentence=sentence, among=among):
        return False
    run = JudgeRun.objects.select_related("study").get(pk=run_id)
    record(run.study, f"judge run {state}", user=user, run=run.public_id)
    return True


@transaction.atomic
def resume_run(*, run_id: int, user: User | None = None) -> bool:
    """Continue a paused or stopped run; False if it is in another state.

    A run that waits after its probe is started. A run whose probe got no reply asks the same
    question again. One that has paused because its replies cannot be read goes on to its end.
    """
    run = JudgeRun.objects.select_related("study").get(pk=run_id)
    run.probe_first &= not has_replies(run_id)
    if unread_of(run):
        accept_unread(run_id)
    resumed = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.RESUMABLE).update(
        state=JudgeRun.State.QUEUED, sentence="", ended_at=None, probe_first=run.probe_first
    )
    if not resumed:
        return False
    if run.probe_first:
        # The same question, not the next, because a failure is not an answer.
        Judgment.objects.filter(run=run, state=Judgment.State.ERROR).update(
            state=Judgment.State.PENDING, error=""
        )
    record(run.study, "judge run resumed", user=user, run=run.public_id)
    queue_run(run)
    run_states.end_if_done(run_id=run_id)
    return True


@transaction.atomic
def retry_failed(*, run_id: int, user: User | None = None) -> bool:
    """Ask the failed questions again; False if there are none, or once the run is cancelled."""
    # Locked, so that a simultaneous cancel is not undone.
    run = (
        JudgeRun.objects.select_for_update(no_key=True, of=("self",))
        .select_related("study")
        .get(pk=run_id)
    )
    if run.is_imported or run.state == JudgeRun.State.CANCELLED:
        return False
    retried = retry_questions(run)
    if not retried:
        return False
    wake(run, by_batch=run.by_batch, probe=run.probe_first)
    record(run.study, "judge run retried", user=user, run=run.public_id, retried=retried)
    queue_run(run)
    return True


def work_off(*, run_id: int, on_wait: Callable[[], None] = lambda: None) -> None:
    """Judge a whole run in this process, without a broker or workers.

    Waits for judgments leased by another worker, and leases them when that lease expires. Calls
    `on_wait` twice a second.
    """
    run = JudgeRun.objects.select_related("judge").get(pk=run_id)
    delivery = deliveries.by_batch()
    if run.by_batch and delivery is not None:
        delivery.work_off(run_id, on_wait)
        return
    threads = _threads(run)
    with ThreadPoolExecutor(threads, thread_name_prefix="judging") as pool:
        workers = {pool.submit(_work, run_id) for _ in range(threads)}
        try:
            while workers:
                ended, workers = wait(workers, timeout=0.5, return_when=FIRST_COMPLETED)
                for worker in ended:
                    worker.result()
                on_wait()
        except BaseException:
            # After Ctrl-C or a failed chunk, the others store what is in flight and end too.
            runtime.stop_asking()
            raise


def wait_for_workers(runs: QuerySet[JudgeRun], on_wait: Callable[[], None] = lambda: None) -> None:
    """Return when workers have ended all these runs. Calls `on_wait` twice a second."""
    while outlive_restart(runs.filter(state__in=JudgeRun.ACTIVE).exists):
        time.sleep(_POLL_SECONDS)
        on_wait()


def _threads(run: JudgeRun) -> int:
    """One for each chunk of open questions: each has a connection to the database."""
    # Two chunks more than the slots need, so that the slots stay full while a chunk ends.
    most = math.ceil(run.judge.most_at_once / chunks.CHUNK) + 2
    waiting = Judgment.everything.filter(run=run, state__in=Judgment.OPEN)
    return max(1, math.ceil(waiting[: most * chunks.CHUNK].count() / chunks.CHUNK))


def _work(run_id: int) -> None:
    try:
        while outlive_restart(partial(_step, run_id)):
            pass
    finally:
        connection.close()


def _step(run_id: int) -> bool:
    """Judge a chunk, or wait for the chunks of other workers; False at the end."""
    is_over = not JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.ACTIVE).exists()
    if is_over or runtime.is_stopping():
        return False
    if not chunks.judge_chunk(run_id=run_id):
        run_states.release_expired(run_id=run_id)
        runtime.sleep(0.2)
    return True
