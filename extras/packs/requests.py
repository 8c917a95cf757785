"""Requests of a run as lines of a file, and returned lines as rows of the ledger."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from math import ceil, inf

from extras.packs.batch_files import MAX_BYTES, BatchLine, request_line
from judging.backends.parameters import request_body
from judging.engine.asker import MAX_OWN_FAULTS, is_last_reply, read_answer, seed_of
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
from judging.models import Attempt, JudgeRun, Judgment, SentParameters
from judging.selectors import has_replies
from judging.worker import ledger, runtime
from judging.worker.budgets import Room
from judging.worker.chunks import questions_of
from judging.worker.endpoints import judge_of
from judging.worker.ledger import Closing, Opening
from judging.worker.ledger_statements import apply
from studies.statements import clock

ROWS = 200  # committed together


def ledger_rows(run: JudgeRun, lease: str, judgments: Iterable[Judgment]) -> ledger.LedgerRows:
    return ledger.LedgerRows(
        run,
        lease,
        {judgment.pk: judgment.shown_first for judgment in judgments},
        price_share=run.judge.batch_price,
    )


def store_rows(rows: Sequence[Opening | Closing]) -> bool:
    """Store rows; return whether any of them was refused."""
    refused = False
    for start in range(0, len(rows), ROWS):
        refused |= any(apply(rows[start : start + ROWS]))
    return refused


def count_in_one_file(questions: Sequence[JudgeQuestion], parameters: Parameters) -> int:
    """How many questions fit into a file; at least one, however long."""
    room = MAX_BYTES
    for number, question in enumerate(questions):
        room -= _length(question, parameters)
        if room < 0 and number:
            return number
    return len(questions)


def count_in_budget(openings: Sequence[Opening], room: Room) -> int:
    """How many requests fit into the budgets at their maximum cost."""
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
    """The length of a line in bytes, without reading its pictures and sounds."""
    messages = tuple(_without_bytes(message) for message in question.messages)
    line = _line(replace(question, messages=messages), parameters)
    media = (each for message in question.asking for each in message.media)
    return len(line) + sum(4 * ceil(each.size / 3) for each in media)


def _without_bytes(message: Message) -> Message:
    return replace(message, media=tuple(replace(each, load=bytes) for each in message.media))


def sent_parameters(questions: Iterable[JudgeQuestion]) -> dict[int, Parameters]:
    """The parameters of the last attempt of each question, nearly always equal."""
    last = {question.id: question.attempts for question in questions}
    attempts = Attempt.objects.filter(judgment__in=last).exclude(sent_with=None)
    rows = attempts.values_list("judgment", "number", "sent_with__sha256")
    hashes = {judgment: sha256 for judgment, number, sha256 in rows if number == last[judgment]}
    known = SentParameters.objects.filter(sha256__in=set(hashes.values()))
    found = {row.sha256: Parameters(row.parameters) for row in known}
    return {judgment: found[sha256] for judgment, sha256 in hashes.items()}


def open_questions(run: JudgeRun, lease: str) -> list[JudgeQuestion]:
    """The open questions with a lease, whose last attempts are in its file.

    Excludes questions that were read before a crash and must be asked again: they are counted.
    """
    judgments = Judgment.objects.filter(
        lease=lease,
        state=Judgment.State.LEASED,
        attempts__outcome=Attempt.Outcome.SENT,
    )
    return questions_of(run, list(judgments.select_related("item__persona").order_by("pk")))


def custom_id(question: JudgeQuestion) -> str:
    return f"{question.id}-{question.attempts}"


# Whether asking again may help after an error of a request with these parameters.
Learn = Callable[[str, Parameters], bool]


class AnswerReader:
    """Turns lines of a batch into rows of the ledger, and stores them as they come.

    `sent_at` is None if unknown. `learn` gets every refused request; by default the judge's backend
    does.
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
        self._judge = judge_of(run)
        self._learn = learn or self._notify_backend
        self._sent_with = sent_with
        self._rows = rows
        self._milliseconds: int | None = None
        if sent_at is not None:
            self._milliseconds = int((clock.now() - sent_at).total_seconds() * 1000)
        self._closings: list[Closing] = []
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
                usage=fault.usage,
                maybe_billed=fault.maybe_billed,
            )
            answer = None if line.expired else self._verdict(question, fault, line)
        else:
            replies += 1
            self._has_replies = True
            read = read_answer(question, reply, is_last=is_last_reply(reply, replies))
            # Questions with several steps are not asked by batch.
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
            error="The batch ended without a result for this request.",
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
            # As long as others are answered, the fault is the question's, whatever it says.
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

    def _notify_backend(self, error: str, sent: Parameters) -> bool:
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
        """Why the run must stop; empty if it can continue."""
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
