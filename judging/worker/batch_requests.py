"""Requests in files: the number that fits into a file and a budget, and their lines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil, inf

from judging.backends.batch import MAX_BYTES, request_line
from judging.backends.parameters import request_body
from judging.engine.asking import seed_of
from judging.engine.interface import JudgeQuestion, Parameters
from judging.engine.messages import Message
from judging.models import Attempt, JudgeRun, Judgment, SentParameters
from judging.worker.questions import questions_of
from judging.worker.records import ledger
from judging.worker.records.budgets import Room

ROWS = 200  # committed together


def ledger_rows(run: JudgeRun, lease: str, judgments: Iterable[Judgment]) -> ledger.LedgerRows:
    return ledger.LedgerRows(
        run,
        lease,
        {judgment.pk: judgment.shown_first for judgment in judgments},
        price_share=run.judge.batch_price,
    )


def store(rows: Sequence[ledger.Opening | ledger.Closing]) -> bool:
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
