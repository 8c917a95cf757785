"""Asking by batch: files that a provider answers within a day, at a lower price.

A batch is stored, its judgments leased and its attempts opened before the file is submitted, and
the provider gets the batch's own name. After a crash the next step asks the provider for that
name before it submits the file again, and it collects only open requests.
"""

import logging
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from math import ceil, inf
from pathlib import Path

from django.db import transaction
from django.db.models import Q

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
    AttemptEnd,
    BackendFault,
    JudgeAnswer,
    JudgeQuestion,
    LearningBackend,
    Misconfigured,
    NoAccess,
    Parameters,
    Rejected,
)
from judging.engine.messages import Message
from judging.errors import BadJudge
from judging.models import Attempt, Batch, JudgeRun, Judgment, SentParameters
from judging.selectors import has_replies
from judging.worker import chunks, ledger, runtime
from judging.worker.budgets import Room, room_of
from judging.worker.endpoints import kind_of, settings_of
from judging.worker.questions import check_sharing, questions_of
from judging.worker.runtime import outlive_restart
from studies.statements import clock

ROWS = 200  # committed together


def ledger_rows(run: JudgeRun, lease: str, judgments: Iterable[Judgment]) -> ledger.LedgerRows:
    return ledger.LedgerRows(
        run,
        lease,
        {judgment.pk: judgment.shown_first for judgment in judgments},
        price_share=run.judge.batch_price,
    )


def store_rows(rows: Sequence[ledger.Opening | ledger.Closing]) -> bool:
    """Store rows; return whether any of them was refused."""
    refused = False
    for start in range(0, len(rows), ROWS):
        refused |= any(ledger.apply(rows[start : start + ROWS]))
    return refused


def count_in_one_file(questions: Sequence[JudgeQuestion], parameters: Parameters) -> int:
    """The number of questions that fit into a file; at least one, however long it is."""
    room = MAX_BYTES
    for number, question in enumerate(questions):
        room -= _length(question, parameters)
        if room < 0 and number:
            return number
    return len(questions)


def count_in_budget(openings: Sequence[ledger.Opening], room: Room) -> int:
    """The number of requests that fit into the budgets at their highest possible cost."""
    nano = inf if room.nano is None else room.nano
    tokens = inf if room.tokens is None else room.tokens
    for number, opening in enumerate(openings):
        # An unknown cost is not zero.
        if opening.most_nano is None and room.nano is not None:
            return number
        nano -= opening.most_nano or 0
        tokens -= opening.most.total
        if nano < 0 or tokens < 0:
            return number
    return len(openings)


def request_lines(questions: Sequence[JudgeQuestion]) -> Iterator[bytes]:
    """The questions as lines of a file, with the parameters in the ledger."""
    sent = sent_parameters(questions)
    return (_line(question, sent[question.id]) for question in questions)


def _line(question: JudgeQuestion, parameters: Parameters) -> bytes:
    body = request_body(parameters.values, question, seed=seed_of(question))
    return request_line(custom_id(question), body)


def _length(question: JudgeQuestion, parameters: Parameters) -> int:
    """The bytes of a line; those of pictures and sounds, in base64, are not read for it."""
    messages = tuple(_without_bytes(message) for message in question.messages)
    line = _line(replace(question, messages=messages), parameters)
    media = (each for message in question.asking for each in message.media)
    return len(line) + sum(4 * ceil(each.size / 3) for each in media)


def _without_bytes(message: Message) -> Message:
    return replace(message, media=tuple(replace(each, load=bytes) for each in message.media))


def sent_parameters(questions: Iterable[JudgeQuestion]) -> dict[int, Parameters]:
    """The parameters of the last attempt of each question; equal for nearly all."""
    last = {question.id: question.attempts for question in questions}
    attempts = Attempt.objects.filter(judgment__in=last).exclude(sent_with=None)
    rows = attempts.values_list("judgment", "number", "sent_with__sha256")
    hashes = {judgment: sha256 for judgment, number, sha256 in rows if number == last[judgment]}
    known = SentParameters.objects.filter(sha256__in=set(hashes.values()))
    found = {row.sha256: Parameters(row.parameters) for row in known}
    return {judgment: found[sha256] for judgment, sha256 in hashes.items()}


def open_questions(run: JudgeRun, lease: str) -> list[JudgeQuestion]:
    """The open questions with a lease; the last attempt of each question is the one in its file.

    Excludes questions that were read before a crash and are to be asked again: they are counted.
    """
    judgments = Judgment.objects.filter(
        lease=lease,
        state=Judgment.State.LEASED,
        attempts__outcome=Attempt.Outcome.SENT,
    )
    return questions_of(run, list(judgments.select_related("item__persona").order_by("pk")))


def custom_id(question: JudgeQuestion) -> str:
    return f"{question.id}-{question.attempts}"


# Whether asking again may help after an error about a request with these parameters.
Learn = Callable[[str, Parameters], bool]


class AnswerReader:
    """Turns lines of a batch into rows of the ledger, and stores them as they come.

    `sent_at` is None if nobody knows it. `learn` is told of every refused request; by default the
    judge's backend is.
    """

    def __init__(
        self,
        run: JudgeRun,
        rows: ledger.LedgerRows,
        sent_with: Mapping[int, Parameters],
        *,
        sent_at: datetime | None,
        learn: Learn | None = None,
    ) -> None:
        self._judge = run.judge
        self._learn = learn or self._tell_backend
        self._sent_with = sent_with
        self._rows = rows
        self._milliseconds: int | None = None
        if sent_at is not None:
            self._milliseconds = int((clock.now() - sent_at).total_seconds() * 1000)
        self._closings: list[ledger.Closing] = []
        self._answered = self._again = 0
        self._no_access = self._misconfigured = ""
        self._has_replies = has_replies(run.pk)

    def read(self, question: JudgeQuestion, line: BatchLine) -> None:
        replies, answer = question.replies, None
        try:
            sent = self._sent_with[question.id]
            reply = line.read(question, is_structured="response_format" in sent.values)
        except BackendFault as fault:
            outcome = "expired" if line.expired else fault.outcome
            end = AttemptEnd(
                outcome,
                self._milliseconds,
                status=fault.status,
                error=str(fault),
                maybe_billed=fault.maybe_billed,
            )
            answer = None if line.expired else self._verdict(question, fault, line)
        else:
            replies += 1
            self._has_replies = True
            read = read_answer(question, reply, is_last=is_last_reply(reply, replies))
            # Questions of several steps are not asked by batch.
            answer = None if isinstance(read, JudgeQuestion) else read
            end = AttemptEnd(
                "replied",
                self._milliseconds,
                status=line.status,
                usage=reply.usage,
                maybe_billed=reply.usage is None,
                text=reply.text,
                request_id=reply.request_id,
            )
        self._close(question, end, replies, answer)

    def miss(self, question: JudgeQuestion, *, is_billed: bool) -> None:
        """Record a missing line: unanswered if the batch expired or was cancelled, else lost."""
        end = AttemptEnd(
            "lost" if is_billed else "expired",
            self._milliseconds,
            maybe_billed=is_billed,
            error="The batch ended without a word about this request.",
        )
        self._close(question, end, question.replies, None)

    def _verdict(
        self, question: JudgeQuestion, fault: BackendFault, line: BatchLine
    ) -> JudgeAnswer | None:
        """The end of a question that the server refuses; None if it is asked again."""
        if isinstance(fault, NoAccess):
            self._no_access = str(fault)
            return None
        if isinstance(fault, Misconfigured):
            # As long as others are answered, it concerns the question, whatever it says.
            if self._has_replies:
                return JudgeAnswer("error", error=str(fault))
            self._misconfigured = self._misconfigured or str(fault)
            return None
        if isinstance(fault, Rejected):
            if self._learn(line.content, self._sent_with[question.id]):
                return None
            return JudgeAnswer("error", error=str(fault))
        if question.attempts - question.replies >= MAX_OWN_FAULTS:
            return JudgeAnswer("error", error=f"{MAX_OWN_FAULTS} requests failed: {fault}")
        return None

    def _tell_backend(self, error: str, sent: Parameters) -> bool:
        backend = runtime.backend_of(self._judge)
        return isinstance(backend, LearningBackend) and backend.learn(error, sent)

    def _close(
        self, question: JudgeQuestion, end: AttemptEnd, replies: int, answer: JudgeAnswer | None
    ) -> None:
        self._answered += answer is not None
        self._again += answer is None
        self._closings.append(self._rows.closing(question, question.attempts, end, replies, answer))
        if len(self._closings) >= ROWS:
            self.flush()

    def flush(self) -> None:
        store_rows(self._closings)
        self._closings = []

    @property
    def stop_with(self) -> str:
        """Why the run must stop; empty if it can go on."""
        return self._no_access or ("" if self._has_replies else self._misconfigured)

    @property
    def answered(self) -> int:
        return self._answered

    @property
    def to_ask_again(self) -> int:
        return self._again

    def words(self, ended: str) -> str:
        again = f", {self._again:,} to be asked again" if self._again else ""
        return f"{ended.capitalize()}: {self._answered:,} decided{again}."


logger = logging.getLogger(__name__)

FIRST_QUESTIONS = 3  # asked one by one before the first file, until one is answered
LINES = 10_000  # of one file; the format allows 50,000 in 200 MB
BUSY = timedelta(minutes=5)  # the longest time that one process can need for a step
_LEASE = timedelta(days=30)  # the sweep ignores open batches; this date is only shown
_SHORTEST_POLL, _LONGEST_POLL = 1.0, 60.0


def follow_batches(*, queue: Callable[[int], object]) -> int:
    """Queue a step for every run that has something to submit or to collect; return how many."""
    waiting = JudgeRun.objects.filter(
        Q(batches__state__in=Batch.OPEN)
        | Q(by_batch=True, probe_first=False, state__in=JudgeRun.ACTIVE)
    ).distinct()
    run_ids = list(waiting.values_list("pk", flat=True))
    for run_id in run_ids:
        queue(run_id)
    return len(run_ids)


def advance_run(*, run_id: int) -> None:
    """Collect results and submit waiting questions; safe to run any number of times at once.

    Batches of a run that was paused or stopped are collected too, because they are paid for.
    """
    run = JudgeRun.objects.select_related("judge", "study").get(pk=run_id)
    try:
        check_sharing(run.study, run.judge)
        with runtime.client_of(run.judge):
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
    """Take the steps of a run in this process until it ends; checks less and less often, down to
    once a minute."""
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
    """Ask one question directly before the first file, so that a wrong key, model or parameter
    shows immediately and not after a day; refused parameters are left out of the file.

    One rejected question may itself be wrong; if the next ones are rejected too, the request is.
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
            return False  # others are working on it, or this process is ending
        sentence = (
            f"The server rejected the first {FIRST_QUESTIONS} questions, so no file was handed in. "
            f"The last answer was: {errors[-1]}"
        )
        chunks.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=sentence)
        run.refresh_from_db()
    return run.is_active


def _prepare(run: JudgeRun) -> Batch | None:
    """Store the next batch of a run; None if nothing waits or the budget has no room."""
    batch = Batch(run=run, requests=0, busy_until=clock.now() + BUSY)
    with transaction.atomic():
        # Whoever locks a run and its judgments locks the run first.
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
        chunks.release(Judgment.objects.filter(pk__in=left_over, lease=batch.public_id))
        refused = store_rows(openings[:fitting])
        if refused or not fitting:
            chunks.release(Judgment.objects.filter(lease=batch.public_id))
        else:
            batch.requests = fitting
            batch.most_nano = sum(opening.most_nano or 0 for opening in openings[:fitting])
            batch.most_tokens = sum(opening.most.total for opening in openings[:fitting])
            batch.save()
            return batch
    # Requests under way, here or in other runs, can free room by costing less than reserved.
    if not refused and not room.may_grow:
        chunks.stop(
            run_id=run.pk,
            state=JudgeRun.State.STOPPED_BUDGET,
            sentence="What is left of the budget has no room for another request in a batch. "
            "Start the run again with a higher budget.",
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
    """Submit the file, unless a process that died had already submitted it."""
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
    """Store every answer that is not stored yet, and release questions without one."""
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
    chunks.release(Judgment.objects.filter(lease=batch.public_id))
    Batch.objects.filter(pk=batch.pk).update(
        state=Batch.State.COLLECTED, ended_at=clock.now(), sentence=reader.words(status.word)
    )
    if reader.stop_with:
        chunks.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=reader.stop_with)


def _note_failure(batch: Batch, run: JudgeRun, error: BatchError) -> None:
    """Wait for a server that is down as long as for any outage; then stop the run, or stop it
    immediately if asking again gives the same result."""
    logger.warning("Batch %s: %s", batch.public_id, error)
    since = batch.failing_since or clock.now()
    Batch.objects.filter(pk=batch.pk).update(failing_since=since, sentence=str(error))
    patience = timedelta(seconds=run.judge.outage_seconds)
    if not error.is_final and clock.now() - since < patience:
        return
    if error.is_final:
        _give_back(batch, run, str(error))
    chunks.stop(run_id=run.pk, state=JudgeRun.State.STOPPED_OUTAGE, sentence=str(error))


def _give_back(batch: Batch, run: JudgeRun, reason: str) -> None:
    """End a batch that the provider refuses; none of it was asked or billed."""
    questions = open_questions(run, batch.public_id)
    judgments = Judgment.objects.filter(pk__in=[question.id for question in questions])
    rows = ledger_rows(run, batch.public_id, judgments)
    end = AttemptEnd("rejected", 0, error=reason)
    store_rows([rows.closing(q, q.attempts, end, q.replies, None) for q in questions])
    chunks.release(Judgment.objects.filter(lease=batch.public_id))
    Batch.objects.filter(pk=batch.pk).update(
        state=Batch.State.FAILED, sentence=reason, ended_at=clock.now()
    )
