"""Asking by batch: files that a provider answers within a day, at a lower price.

Before the file is submitted, the batch is stored, its judgments are leased and its attempts opened;
the provider gets the batch's name. After a crash, the next step looks for that name at the provider
before it submits the file again, and collects only open requests.
"""

import logging
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from extras.packs.batch_files import BatchClient, BatchError, Status
from extras.packs.models import Batch
from extras.packs.requests import (
    AnswerReader,
    count_in_budget,
    count_in_one_file,
    custom_id,
    ledger_rows,
    open_questions,
    request_lines,
    sent_parameters,
    store_rows,
)
from judging.backends.backend import api_key, secret_headers
from judging.deliveries import RunDelivery, RunPanel
from judging.engine.interface import AttemptEnd
from judging.errors import BadJudge
from judging.models import JudgeRun, Judgment
from judging.runs.spec import RunSpec
from judging.selectors import RunProgress, has_replies
from judging.worker import chunks, run_states, runtime
from judging.worker.budgets import room_of
from judging.worker.chunks import questions_of
from judging.worker.endpoints import check_sharing, settings_of
from judging.worker.runtime import outlive_restart
from studies.statements import clock

logger = logging.getLogger(__name__)

FIRST_QUESTIONS = 3  # asked one by one before the first file until one is answered
LINES = 10_000  # of one file; the format allows 50,000 in 200 MB
BUSY = timedelta(minutes=5)  # the longest time that a process needs for a step
_LEASE = timedelta(days=30)  # only shown; the sweep ignores open batches
_SHORTEST_POLL, _LONGEST_POLL = 1.0, 60.0


def follow_batches(*, queue: Callable[[int], object]) -> int:
    """Queue a step for every run with something to submit or collect; return how many."""
    waiting = JudgeRun.objects.filter(
        Q(batches__state__in=Batch.OPEN)
        | Q(by_batch=True, probe_first=False, state__in=JudgeRun.ACTIVE)
    ).distinct()
    run_ids = list(waiting.values_list("pk", flat=True))
    for run_id in run_ids:
        queue(run_id)
    return len(run_ids)


def advance_run(*, run_id: int) -> None:
    """Collect results and submit waiting questions; safe to repeat and to run in parallel.

    Batches of a run that was paused or stopped are collected too, because they are paid for.
    """
    run = JudgeRun.objects.select_related("judge", "study").get(pk=run_id)
    try:
        check_sharing(run.study, run.judge)
        settings = settings_of(run.judge)
        client = BatchClient(
            base_url=settings.base_url,
            api_key=api_key(settings),
            link_local=settings.link_local,
            query=settings.extra_fields.query,
            headers=settings.extra_fields.headers,
            secret=secret_headers(settings),
        )
    except BadJudge as error:
        run_states.stop(run_id=run_id, state=JudgeRun.State.STOPPED_OUTAGE, sentence=str(error))
        return
    try:
        for batch in run.batches.filter(state__in=Batch.OPEN):
            _step(batch, run, client)
        chunks.pause_after_new_wording(run_id)
        run.refresh_from_db()
        if run.by_batch and run.is_active and not run.probe_first and _may_hand_in(run):
            while run.is_active and (new := _prepare(run)):
                _step(new, run, client, is_new=True)
                run.refresh_from_db()
    finally:
        client.close()
    run_states.end_if_done(run_id=run_id)


def work_off(*, run_id: int, on_wait: Callable[[], None] = lambda: None) -> None:
    """Take the steps of a run in this process until it ends, in the end once a minute."""
    pause = _SHORTEST_POLL
    active = JudgeRun.objects.filter(pk=run_id, state__in=JudgeRun.ACTIVE)
    while outlive_restart(active.exists):
        outlive_restart(partial(advance_run, run_id=run_id))
        on_wait()
        deadline = time.monotonic() + pause
        while time.monotonic() < deadline and not runtime.is_stopping():
            runtime.sleep(min(0.5, pause))
            on_wait()
        pause = min(_LONGEST_POLL, pause * 1.5)


def _may_hand_in(run: JudgeRun) -> bool:
    """Ask one question directly before the first file, and say whether that may follow.

    So a wrong key, model or parameter shows immediately, not after a day, and refused parameters
    are left out of the file.
    A rejected question may itself be wrong; if the next ones are rejected too, the request is
    wrong.
    """
    for _ in range(FIRST_QUESTIONS):
        if not run.is_active or has_replies(run.pk):
            break
        if not chunks.judge_chunk(run_id=run.pk, is_probe=True):
            break
        run.refresh_from_db()
    if run.is_active and not has_replies(run.pk):
        failed = Judgment.objects.filter(run=run, state=Judgment.State.ERROR).order_by("pk")
        errors = list(failed.values_list("error", flat=True)[:FIRST_QUESTIONS])
        if len(errors) < FIRST_QUESTIONS:
            return False  # another process is working on it, or this one is ending
        sentence = (
            f"The server rejected the first {FIRST_QUESTIONS} questions, so no file was handed in. "
            f"The last answer was: {errors[-1]}"
        )
        run_states.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=sentence)
        run.refresh_from_db()
    return run.is_active


def _prepare(run: JudgeRun) -> Batch | None:
    """Store the next batch of a run; None if nothing waits or the budget is too low."""
    batch = Batch(run=run, requests=0, busy_until=clock.now() + BUSY)
    with transaction.atomic():
        # Every lock of a run and its judgments takes the run first.
        JudgeRun.objects.select_for_update(no_key=True).get(pk=run.pk)
        judgments = chunks.claim(run, batch.public_id, most=LINES, until=clock.now() + _LEASE)
        if not judgments:
            return None
        questions = questions_of(run, judgments)
        parameters = runtime.backend_of(run.judge).parameters()
        questions = questions[: count_in_one_file(questions, parameters)]
        rows = ledger_rows(run, batch.public_id, judgments)
        openings = [
            rows.opening(question, question.attempts + 1, parameters) for question in questions
        ]
        room = room_of(run.pk)
        fitting = count_in_budget(openings, room)
        left_over = [judgment.pk for judgment in judgments[fitting:]]
        run_states.release(Judgment.objects.filter(pk__in=left_over, lease=batch.public_id))
        refused = store_rows(openings[:fitting])
        if refused or not fitting:
            run_states.release(Judgment.objects.filter(lease=batch.public_id))
        else:
            batch.requests = fitting
            batch.most_nano = sum(opening.most_nano or 0 for opening in openings[:fitting])
            batch.most_tokens = sum(opening.most.total for opening in openings[:fitting])
            batch.save()
            return batch
    # Requests in progress, here or in other runs, may cost less than reserved and free some budget.
    if not refused and not room.may_grow:
        run_states.stop(
            run_id=run.pk,
            state=JudgeRun.State.STOPPED_BUDGET,
            sentence="The remaining budget is too low for another request in a batch. Start the "
            "run again with a higher budget.",
        )
    return None


def _step(batch: Batch, run: JudgeRun, client: BatchClient, *, is_new: bool = False) -> None:
    """Advance a batch as far as possible, unless another process is working on it."""
    mine = Batch.objects.filter(pk=batch.pk, state__in=Batch.OPEN)
    if not is_new:
        free = mine.filter(Q(busy_until=None) | clock.has_ended("busy_until", BUSY))
        if not free.update(busy_until=clock.now() + BUSY):
            return
        batch.refresh_from_db()  # another process may have changed it
    try:
        if batch.state == Batch.State.PREPARED:
            _hand_in(batch, run, client, is_new=is_new)
        else:
            _poll(batch, run, client)
        mine.update(failing_since=None)
    except BatchError as error:
        _note_failure(batch, run, error)
    finally:
        mine.update(busy_until=None)


def _hand_in(batch: Batch, run: JudgeRun, client: BatchClient, *, is_new: bool) -> None:
    """Submit the file, unless a process did so before it died."""
    name = {"thirdperson_run": run.public_id, "thirdperson_batch": batch.public_id}
    provider_id = "" if is_new else client.find(metadata=name)
    if not provider_id:
        with tempfile.TemporaryDirectory(prefix="thirdperson-batch-") as folder:
            path = Path(folder) / f"{batch.public_id}.jsonl"
            with path.open("wb") as file:
                questions = open_questions(run, batch.public_id)
                file.writelines(request_lines(questions))
            provider_id = client.submit(path, metadata=name)
    Batch.objects.filter(pk=batch.pk).update(
        state=Batch.State.SUBMITTED, provider_id=provider_id, submitted_at=clock.now()
    )


def _poll(batch: Batch, run: JudgeRun, client: BatchClient) -> None:
    status = client.status(batch.provider_id)
    Batch.objects.filter(pk=batch.pk).update(answered=status.answered)
    if status.state == "failed":
        reason = status.error or "it did not say why"
        raise BatchError(f"The provider refused the batch: {reason}.", is_final=True)
    if status.state == "ended":
        _collect(batch, run, client, status)
    elif run.state == JudgeRun.State.CANCELLED and status.word != "cancelling":
        client.cancel(batch.provider_id)


def _collect(batch: Batch, run: JudgeRun, client: BatchClient, status: Status) -> None:
    """Store every new answer, and release questions without one."""
    asked = {custom_id(question): question for question in open_questions(run, batch.public_id)}
    judgments = Judgment.objects.filter(pk__in=[question.id for question in asked.values()])
    reader = AnswerReader(
        run,
        ledger_rows(run, batch.public_id, judgments),
        sent_parameters(asked.values()),
        sent_at=batch.submitted_at or batch.created_at,
    )
    for file_id in status.files:
        for line in client.lines(file_id):
            if question := asked.pop(line.custom_id, None):
                reader.read(question, line)
    for question in asked.values():
        reader.miss(question, is_billed=status.word == "completed")
    reader.flush()
    run_states.release(Judgment.objects.filter(lease=batch.public_id))
    Batch.objects.filter(pk=batch.pk).update(
        state=Batch.State.COLLECTED, ended_at=clock.now(), sentence=reader.words(status.word)
    )
    if reader.stop_with:
        run_states.stop(
            run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=reader.stop_with
        )


def _note_failure(batch: Batch, run: JudgeRun, error: BatchError) -> None:
    """Stop the run if a server is down for too long, or if asking again would change nothing."""
    logger.warning("Batch %s: %s", batch.public_id, error)
    since = batch.failing_since or clock.now()
    Batch.objects.filter(pk=batch.pk).update(failing_since=since, sentence=str(error))
    patience = timedelta(seconds=run.judge.outage_seconds)
    if not error.is_final and clock.now() - since < patience:
        return
    if error.is_final:
        _give_back(batch, run, str(error))
    run_states.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=str(error))


def _give_back(batch: Batch, run: JudgeRun, reason: str) -> None:
    """End a batch that the provider refuses, of which nothing was asked or billed."""
    questions = open_questions(run, batch.public_id)
    judgments = Judgment.objects.filter(pk__in=[question.id for question in questions])
    rows = ledger_rows(run, batch.public_id, judgments)
    end = AttemptEnd("rejected", 0, error=reason)
    store_rows([rows.closing(q, q.attempts, end, q.replies, None) for q in questions])
    run_states.release(Judgment.objects.filter(lease=batch.public_id))
    Batch.objects.filter(pk=batch.pk).update(
        state=Batch.State.FAILED, sentence=reason, ended_at=clock.now()
    )


class BatchDelivery(RunDelivery):
    name = "batches"
    asks_by_batch = True
    packages = ("openai",)

    def add_judge_options(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--batch",
            action="store_true",
            help="use the provider's batch service: cheaper, with replies within a day",
        )

    def specify(self, spec: RunSpec, options: dict[str, Any]) -> RunSpec:
        return replace(spec, by_batch=options["batch"])

    def queue(self, run_id: int) -> None:
        from extras.packs.tasks import queue_batches

        queue_batches(run_id)

    def follow(self) -> None:
        follow_batches(queue=self.queue)

    def work_off(self, run_id: int, on_wait: Callable[[], None]) -> None:
        work_off(run_id=run_id, on_wait=on_wait)

    def leases(self) -> QuerySet[Any, Any]:
        return Batch.objects.filter(state__in=Batch.OPEN).values("public_id")

    def panel(self, run: JudgeRun, progress: RunProgress, *, may_edit: bool) -> RunPanel | None:
        batches = list(run.batches.all())
        if not batches:
            return None
        context = {"batches": batches, "percent": run.judge.batch_percent}
        return RunPanel("packs/_batches.html", context)


BATCHES = BatchDelivery()
