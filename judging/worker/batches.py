"""Asking by batch: files that a provider works off within a day, at a lower price.

A batch is stored, its judgments leased and its attempts opened before anything is handed in, and
the provider is told the batch's own name. Whatever dies in between, the next step goes on: it asks
the provider for that name before it hands in again, and it collects only what is still open.
"""

import logging
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from math import inf
from pathlib import Path

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from judging.backends.batch import (
    MAX_BYTES,
    BatchClient,
    BatchError,
    BatchLine,
    Status,
    request_line,
)
from judging.backends.parameters import request_body
from judging.engine.asking import MAX_OWN_FAULTS, is_last_reply, read_answer, seed_of
from judging.engine.interface import (
    Answer,
    AttemptEnd,
    Fault,
    LearningBackend,
    Misconfigured,
    Parameters,
    Question,
    Rejected,
)
from judging.errors import BadJudge
from judging.models import Attempt, Batch, JudgeRun, Judgment, SentParameters
from judging.selectors import has_replies
from judging.worker import chunks, ledger, runtime
from judging.worker.budgets import Room, room_of
from judging.worker.database_outages import outlive_restart
from judging.worker.endpoints import kind_of, settings_of
from judging.worker.questions import questions_of

logger = logging.getLogger(__name__)

FIRST_QUESTIONS = 3  # asked one by one before the first file, until one is answered
LINES = 10_000  # of one file; the format allows 50,000 in 200 MB
BUSY = timedelta(minutes=5)  # how long one process may need for a step
_LEASE = timedelta(days=30)  # the sweep leaves open batches alone; this is for the eye
_ROWS = 200  # committed together
_SHORTEST_POLL, _LONGEST_POLL = 1.0, 60.0


def follow_batches(*, queue: Callable[[int], object]) -> int:
    """Queue a step for every run that has something to hand in or to collect; returns how many."""
    waiting = JudgeRun.objects.filter(
        Q(batches__state__in=Batch.OPEN)
        | Q(by_batch=True, probe_first=False, state__in=JudgeRun.ACTIVE)
    ).distinct()
    run_ids = list(waiting.values_list("pk", flat=True))
    for run_id in run_ids:
        queue(run_id)
    return len(run_ids)


def advance_run(*, run_id: int) -> None:
    """Collect what has come, and hand in what waits; safe to run any number of times at once.

    Batches of a run that was paused or stopped are collected all the same: they are paid for.
    """
    run = JudgeRun.objects.select_related("judge", "study").get(pk=run_id)
    try:
        client = kind_of(run.judge).batch_client(settings_of(run.judge))
    except BadJudge as error:
        chunks.stop(run_id=run_id, state=JudgeRun.State.STOPPED_OUTAGE, sentence=str(error))
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
    chunks.settle(run_id=run_id)


def work_off(*, run_id: int, on_wait: Callable[[], None] = lambda: None) -> None:
    """Take the steps of a run in this process until it ends; asks ever more rarely, at most once
    a minute."""
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
    """Ask one question at once before the first file: a wrong key, model or parameter shows now
    and not after a day, and what the server does not take is left out of the file.

    One question that is rejected may be wrong itself; when the next ones are too, the request is.
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
            return False  # others are at it, or this process is to end
        sentence = (
            f"The server rejected the first {FIRST_QUESTIONS} questions, so no file was handed in. "
            f"The last answer was: {errors[-1]}"
        )
        chunks.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=sentence)
        run.refresh_from_db()
    return run.is_active


def _prepare(run: JudgeRun) -> Batch | None:
    """Store the next batch of a run; None when nothing waits or the budget has no room."""
    batch = Batch(run=run, requests=0, busy_until=timezone.now() + BUSY)
    with transaction.atomic():
        judgments = chunks.claim(run, batch.public_id, most=LINES, until=timezone.now() + _LEASE)
        if not judgments:
            return None
        questions = questions_of(run, judgments)
        parameters = runtime.backend_of(run.judge).parameters()
        questions = questions[: _in_one_file(questions, parameters)]
        rows = _rows(run, batch, judgments)
        openings = [
            rows.opening(question, question.attempts + 1, parameters) for question in questions
        ]
        room = room_of(run.pk)
        fitting = _fitting(openings, room)
        left_over = [judgment.pk for judgment in judgments[fitting:]]
        chunks.release(Judgment.objects.filter(pk__in=left_over, lease=batch.public_id))
        refused = _apply(openings[:fitting])
        if refused or not fitting:
            chunks.release(Judgment.objects.filter(lease=batch.public_id))
        else:
            batch.requests = fitting
            batch.most_nano = sum(opening.most_nano or 0 for opening in openings[:fitting])
            batch.most_tokens = sum(opening.most.total for opening in openings[:fitting])
            batch.save()
            return batch
    # What is under way, here or in other runs, may make room by costing less than it could.
    if not refused and not room.may_grow:
        chunks.stop(
            run_id=run.pk,
            state=JudgeRun.State.STOPPED_BUDGET,
            sentence="What is left of the budget has no room for another request in a batch. "
            "Give the same command a higher budget.",
        )
    return None


def _in_one_file(questions: Sequence[Question], parameters: Parameters) -> int:
    """How many of the questions a file has room for; one, however long it is."""
    room = MAX_BYTES
    for number, question in enumerate(questions):
        room -= len(_line(question, parameters))
        if room < 0 and number:
            return number
    return len(questions)


def _fitting(openings: Sequence[ledger.Opening], room: Room) -> int:
    """How many of the requests the budgets have room for, whatever the replies will cost."""
    nano = inf if room.nano is None else room.nano
    tokens = inf if room.tokens is None else room.tokens
    for number, opening in enumerate(openings):
        # Unknown is not free.
        if opening.most_nano is None and room.nano is not None:
            return number
        nano -= opening.most_nano or 0
        tokens -= opening.most.total
        if nano < 0 or tokens < 0:
            return number
    return len(openings)


def _rows(run: JudgeRun, batch: Batch, judgments: Iterable[Judgment]) -> ledger.Rows:
    return ledger.Rows(
        run,
        batch.public_id,
        {judgment.pk: judgment.shown_first for judgment in judgments},
        price_share=run.judge.batch_price,
    )


def _apply(rows: Sequence[ledger.Opening | ledger.Closing]) -> bool:
    """Store rows; whether any of them was refused."""
    refused = False
    for start in range(0, len(rows), _ROWS):
        refused |= any(ledger.apply(rows[start : start + _ROWS]))
    return refused


def _step(batch: Batch, run: JudgeRun, client: BatchClient, *, is_new: bool = False) -> None:
    """Take a batch as far as it goes now, unless another process is at it."""
    mine = Batch.objects.filter(pk=batch.pk, state__in=Batch.OPEN)
    if not is_new:
        free = mine.filter(Q(busy_until=None) | Q(busy_until__lt=timezone.now()))
        if not free.update(busy_until=timezone.now() + BUSY):
            return
        batch.refresh_from_db()  # what another process has done to it by now
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
    """Give the provider the file, unless it has it since a process that died on the way."""
    name = {"thirdperson_run": run.public_id, "thirdperson_batch": batch.public_id}
    provider_id = "" if is_new else client.find(metadata=name)
    if not provider_id:
        with tempfile.TemporaryDirectory(prefix="thirdperson-batch-") as folder:
            path = Path(folder) / f"{batch.public_id}.jsonl"
            with path.open("wb") as file:
                file.writelines(_lines(_questions_of(batch, run)))
            provider_id = client.submit(path, metadata=name)
    Batch.objects.filter(pk=batch.pk).update(
        state=Batch.State.SUBMITTED, provider_id=provider_id, submitted_at=timezone.now()
    )


def _lines(questions: Sequence[Question]) -> Iterator[bytes]:
    """The questions as lines of a file, as the ledger says that each is sent."""
    sent = _sent_with(questions)
    return (_line(question, sent[question.id]) for question in questions)


def _line(question: Question, parameters: Parameters) -> bytes:
    body = request_body(parameters.values, question, seed=seed_of(question))
    return request_line(_custom_id(question), body)


def _sent_with(questions: Iterable[Question]) -> dict[int, Parameters]:
    """What the last attempt of each question is sent with; alike for nearly all."""
    last = {question.id: question.attempts for question in questions}
    attempts = Attempt.objects.filter(judgment__in=last).exclude(sent_with=None)
    rows = attempts.values_list("judgment", "number", "sent_with__sha256")
    hashes = {judgment: sha256 for judgment, number, sha256 in rows if number == last[judgment]}
    known = SentParameters.objects.filter(sha256__in=set(hashes.values()))
    found = {row.sha256: Parameters(row.parameters) for row in known}
    return {judgment: found[sha256] for judgment, sha256 in hashes.items()}


def _questions_of(batch: Batch, run: JudgeRun) -> list[Question]:
    """What a batch still asks; the last attempt of each question is the one in the batch.

    Not what was read before a crash and is to be asked again: that was counted.
    """
    judgments = Judgment.objects.filter(
        lease=batch.public_id,
        state=Judgment.State.LEASED,
        attempts__outcome=Attempt.Outcome.SENT,
    )
    return questions_of(run, list(judgments.select_related("item__persona").order_by("pk")))


def _custom_id(question: Question) -> str:
    return f"{question.id}-{question.attempts}"


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
    """Store every answer that is not stored yet, and give back what has none."""
    asked = {_custom_id(question): question for question in _questions_of(batch, run)}
    judgments = Judgment.objects.filter(pk__in=[question.id for question in asked.values()])
    reader = _Reader(run, _rows(run, batch, judgments), batch, _sent_with(asked.values()))
    for file_id in status.files:
        for line in client.lines(file_id):
            if question := asked.pop(line.custom_id, None):
                reader.read(question, line)
    for question in asked.values():
        reader.miss(question, is_billed=status.word == "completed")
    reader.flush()
    chunks.release(Judgment.objects.filter(lease=batch.public_id))
    Batch.objects.filter(pk=batch.pk).update(
        state=Batch.State.COLLECTED, ended_at=timezone.now(), sentence=reader.words(status.word)
    )
    if reader.stop_with:
        chunks.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=reader.stop_with)


class _Reader:
    """Turns lines of a batch into rows of the ledger, and stores them as they come."""

    def __init__(
        self,
        run: JudgeRun,
        rows: ledger.Rows,
        batch: Batch,
        sent_with: Mapping[int, Parameters],
    ) -> None:
        self._judge = run.judge
        self._sent_with = sent_with
        self._rows = rows
        since = batch.submitted_at or batch.created_at
        self._milliseconds = int((timezone.now() - since).total_seconds() * 1000)
        self._closings: list[ledger.Closing] = []
        self._answered = self._again = 0
        self.stop_with = ""

    def read(self, question: Question, line: BatchLine) -> None:
        replies, answer = question.replies, None
        try:
            sent = self._sent_with[question.id]
            reply = line.read(question, is_structured="response_format" in sent.values)
        except Fault as fault:
            outcome = "expired" if line.expired else fault.outcome
            end = AttemptEnd(
                outcome, self._milliseconds, status=fault.status, error=str(fault),
                maybe_billed=fault.maybe_billed,
            )  # fmt: skip
            answer = None if line.expired else self._verdict(question, fault, line)
        else:
            replies += 1
            answer = read_answer(question, reply, is_last=is_last_reply(reply, replies))
            end = AttemptEnd(
                "replied", self._milliseconds, status=line.status, usage=reply.usage,
                maybe_billed=reply.usage is None, text=reply.text, request_id=reply.request_id,
            )  # fmt: skip
        self._close(question, end, replies, answer)

    def miss(self, question: Question, *, is_billed: bool) -> None:
        """No line: not answered by a batch that expired or was cancelled, lost otherwise."""
        end = AttemptEnd(
            "lost" if is_billed else "expired", self._milliseconds, maybe_billed=is_billed,
            error="The batch ended without a word about this request.",
        )  # fmt: skip
        self._close(question, end, question.replies, None)

    def _verdict(self, question: Question, fault: Fault, line: BatchLine) -> Answer | None:
        """The end of a question that the server turns down; None where it is asked again."""
        if isinstance(fault, Misconfigured):
            self.stop_with = str(fault)
            return None
        if isinstance(fault, Rejected):
            backend = runtime.backend_of(self._judge)
            if isinstance(backend, LearningBackend) and backend.learn(
                line.content, self._sent_with[question.id]
            ):
                return None
            return Answer("error", error=str(fault))
        if question.attempts - question.replies >= MAX_OWN_FAULTS:
            return Answer("error", error=f"{MAX_OWN_FAULTS} requests failed: {fault}")
        return None

    def _close(
        self, question: Question, end: AttemptEnd, replies: int, answer: Answer | None
    ) -> None:
        self._answered += answer is not None
        self._again += answer is None
        self._closings.append(self._rows.closing(question, question.attempts, end, replies, answer))
        if len(self._closings) >= _ROWS:
            self.flush()

    def flush(self) -> None:
        _apply(self._closings)
        self._closings = []

    def words(self, ended: str) -> str:
        again = f", {self._again:,} to be asked again" if self._again else ""
        return f"{ended.capitalize()}: {self._answered:,} decided{again}."


def _note_failure(batch: Batch, run: JudgeRun, error: BatchError) -> None:
    """Wait for a server that is down as long as for any outage; then, or at once where asking
    again brings the same, stop the run."""
    logger.warning("Batch %s: %s", batch.public_id, error)
    since = batch.failing_since or timezone.now()
    Batch.objects.filter(pk=batch.pk).update(failing_since=since, sentence=str(error))
    patience = timedelta(seconds=run.judge.outage_seconds)
    if not error.is_final and timezone.now() - since < patience:
        return
    if error.is_final:
        _give_back(batch, run, str(error))
    chunks.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=str(error))


def _give_back(batch: Batch, run: JudgeRun, reason: str) -> None:
    """End a batch that the provider will never work off: nothing of it was asked or billed."""
    questions = _questions_of(batch, run)
    judgments = Judgment.objects.filter(pk__in=[question.id for question in questions])
    rows = _rows(run, batch, judgments)
    end = AttemptEnd("rejected", 0, error=reason)
    _apply([rows.closing(q, q.attempts, end, q.replies, None) for q in questions])
    chunks.release(Judgment.objects.filter(lease=batch.public_id))
    Batch.objects.filter(pk=batch.pk).update(
        state=Batch.State.FAILED, sentence=reason, ended_at=timezone.now()
    )
