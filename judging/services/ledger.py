"""The ledger of a run in the database: attempts before they are sent, answers as they land."""

import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from judging.engine.protocol import (
    Answer,
    AttemptEnd,
    Halted,
    LedgerFailed,
    OverBudget,
    Question,
    Stopped,
    Usage,
)
from judging.models import NANO, JudgeRun
from judging.services.writer import Writer
from studies.models import Choice, Side
from studies.services import freeze

Prices = tuple[Decimal, Decimal]


@dataclass(frozen=True, slots=True)
class Opening:
    run_id: int
    judgment_id: int
    number: int
    sent_at: datetime
    most_nano: int | None  # what it can cost at most; stays when nobody ever answers


@dataclass(frozen=True, slots=True)
class Closing:
    run_id: int
    study_id: int
    judgment_id: int
    lease: str
    number: int
    end: AttemptEnd
    usage: Usage | None
    usage_is_estimate: bool
    cost_nano: int | None
    replies: int
    answer: Answer | None
    choice: str
    probabilities: str | None  # as JSON
    freezes: bool


def price(prices: Prices | None, usage: Usage | None) -> int | None:
    """Cost in billionths of a dollar; None where the judge has no price. No usage costs nothing."""
    if prices is None:
        return None
    if usage is None:
        return 0
    per_million = prices[0] * usage.prompt_tokens + prices[1] * usage.completion_tokens
    return int(per_million * (NANO // 10**6))


class RunLedger:
    """`engine.protocol.Ledger` of one leased chunk of a run."""

    def __init__(
        self,
        *,
        writer: Writer,
        run: JudgeRun,
        lease: str,
        sides: Mapping[int, str],
        is_stopping: Any,
    ) -> None:
        judge = run.judge
        self._writer = writer
        self._run_id, self._study_id, self._lease = run.pk, run.study_id, lease
        self._sides = sides
        self._is_stopping = is_stopping
        self._freezes = run.study.frozen_at is None  # spares a query per batch later on
        self._max_tokens = judge.max_tokens
        self._under_way: dict[int, float] = {}  # since when, by question
        self._prices: Prices | None = None
        if judge.price_input is not None and judge.price_output is not None:
            self._prices = judge.price_input, judge.price_output

    async def open(self, question: Question, number: int) -> None:
        if self._is_stopping():
            raise Halted("The worker is ending.")
        self._under_way[question.id] = time.monotonic()
        most = price(self._prices, self._guess(question, text=None))
        try:
            await self._writer.write(
                Opening(self._run_id, question.id, number, timezone.now(), most)
            )
        except (Stopped, LedgerFailed):
            del self._under_way[question.id]  # nothing is sent
            raise

    async def close(
        self, question: Question, number: int, end: AttemptEnd, replies: int, answer: Answer | None
    ) -> None:
        usage, is_estimate = end.usage, False
        if usage is None and end.maybe_billed:
            is_estimate = True
            usage = self._guess(question, text=end.text if end.outcome == "replied" else None)
        contents = _contents(self._sides[question.id])
        await self._writer.write(
            Closing(
                run_id=self._run_id,
                study_id=self._study_id,
                judgment_id=question.id,
                lease=self._lease,
                number=number,
                end=end,
                usage=usage,
                usage_is_estimate=is_estimate,
                cost_nano=price(self._prices, usage),
                replies=replies,
                answer=answer,
                choice=contents[answer.side] if answer and answer.side else "",
                probabilities=_probabilities(answer, contents),
                freezes=self._freezes,
            )
        )
        self._under_way.pop(question.id, None)

    @property
    def oldest(self) -> float | None:
        """Since when the request is under way that was begun first; None while there is none."""
        return min(self._under_way.copy().values(), default=None)

    def _guess(self, question: Question, *, text: str | None) -> Usage:
        """Tokens of a request whose usage nobody told: rather too many than too few."""
        completion = self._max_tokens if text is None else len(text) // 3 + 1
        return Usage(len(question.prompt) // 3 + 1, completion)


def _contents(shown_first: str) -> dict[str, str]:
    """What the prompt's letters stand for."""
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return {"A": str(shown_first), "B": str(second), "C": str(Choice.TIE)}


def _probabilities(answer: Answer | None, contents: Mapping[str, str]) -> str | None:
    if answer is None or answer.probabilities is None:
        return None
    return json.dumps({contents[side]: share for side, share in answer.probabilities.items()})


def apply(rows: Sequence[Opening | Closing]) -> list[Exception | None]:
    """Write the rows in one transaction; an attempt that must not be sent is refused."""
    closings = [row for row in rows if isinstance(row, Closing)]
    openings = [row for row in rows if isinstance(row, Opening)]
    with transaction.atomic(), connection.cursor() as cursor:
        if closings:
            _freeze(closings)
            _add_to_runs(cursor, closings)
            _close_attempts(cursor, closings)
            _store_replies(cursor, closings)
        refusals = _refusals(cursor, {row.run_id for row in openings})
        if granted := [row for row in openings if row.run_id not in refusals]:
            _open_attempts(cursor, granted)
    return [refusals.get(row.run_id) if isinstance(row, Opening) else None for row in rows]


def _freeze(closings: Sequence[Closing]) -> None:
    """The first answer fixes what was asked."""
    for study_id in sorted({r.study_id for r in closings if r.freezes and r.answer is not None}):
        freeze(study_id)


def _refusals(cursor: CursorWrapper, run_ids: set[int]) -> dict[int, Exception]:
    """Runs that may send nothing more, and why."""
    refusals: dict[int, Exception] = {}
    for run_id in run_ids:
        cursor.execute(
            "SELECT state, budget, token_budget, spent_nano, tokens"
            " FROM judging_judgerun WHERE id = %s",
            [run_id],
        )
        state, budget, token_budget, spent_nano, tokens = cursor.fetchone()
        if state not in JudgeRun.ACTIVE:
            refusals[run_id] = Halted(f"The run is {JudgeRun.State(state).label}.")
        elif budget is not None and spent_nano >= int(Decimal(str(budget)) * NANO):
            refusals[run_id] = OverBudget(
                f"The budget of ${Decimal(str(budget)).normalize():f} is used up: "
                f"${spent_nano / NANO:.4f} spent. Give the same command a higher --budget."
            )
        elif token_budget is not None and tokens >= token_budget:
            refusals[run_id] = OverBudget(
                f"The budget of {token_budget:,} tokens is used up: {tokens:,} spent. "
                "Give the same command a higher --token-budget."
            )
    return refusals


def _open_attempts(cursor: CursorWrapper, rows: Sequence[Opening]) -> None:
    now = _moment(timezone.now())
    execute_many(
        cursor,
        "INSERT INTO judging_attempt (judgment_id, number, outcome, sent_at, cost_nano,"
        " cost_is_estimate, text, error, request_id, created_at)"
        " VALUES (%s, %s, 'sent', %s, %s, %s, '', '', '', %s)",
        [(r.judgment_id, r.number, _moment(r.sent_at), r.most_nano, True, now) for r in rows],
    )


def _close_attempts(cursor: CursorWrapper, rows: Sequence[Closing]) -> None:
    execute_many(
        cursor,
        "UPDATE judging_attempt SET outcome = %s, status_code = %s, latency_ms = %s,"
        " prompt_tokens = %s, completion_tokens = %s, cost_nano = %s, cost_is_estimate = %s,"
        " text = %s, error = %s, request_id = %s WHERE judgment_id = %s AND number = %s",
        [
            (
                r.end.outcome, r.end.status, r.end.latency_ms,
                r.usage.prompt_tokens if r.usage else None,
                r.usage.completion_tokens if r.usage else None,
                r.cost_nano, r.usage_is_estimate, r.end.text, r.end.error, r.end.request_id,
                r.judgment_id, r.number,
            )
            for r in rows
        ],
    )  # fmt: skip


def _store_replies(cursor: CursorWrapper, rows: Sequence[Closing]) -> None:
    """Only while the lease is ours: another worker may have taken over what we were slow with."""
    unanswered = [r for r in rows if r.answer is None and r.end.outcome == "replied"]
    execute_many(
        cursor,
        "UPDATE judging_judgment SET replies = %s"
        " WHERE id = %s AND lease = %s AND state = 'leased'",
        [(r.replies, r.judgment_id, r.lease) for r in unanswered],
    )
    now = _moment(timezone.now())
    execute_many(
        cursor,
        "UPDATE judging_judgment SET state = %s, choice = %s, certainty = %s, probabilities = %s,"
        " raw_text = %s, replies = %s, model_snapshot = %s, fingerprint = %s, error = %s,"
        " answered_at = %s, leased_until = NULL WHERE id = %s AND lease = %s AND state = 'leased'",
        [
            (
                r.answer.state, r.choice, r.answer.certainty, r.probabilities, r.answer.text,
                r.replies, r.answer.model, r.answer.fingerprint, r.answer.error, now,
                r.judgment_id, r.lease,
            )
            for r in rows
            if r.answer is not None
        ],
    )  # fmt: skip


def _add_to_runs(cursor: CursorWrapper, rows: Sequence[Closing]) -> None:
    spent: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        spent[row.run_id][0] += row.cost_nano or 0
        if row.usage is not None:
            spent[row.run_id][1] += row.usage.prompt_tokens + row.usage.completion_tokens
    now = _moment(timezone.now())
    execute_many(
        cursor,
        "UPDATE judging_judgerun SET spent_nano = spent_nano + %s,"
        " tokens = tokens + %s, touched_at = %s WHERE id = %s",
        [(nano, tokens, now, run_id) for run_id, (nano, tokens) in sorted(spent.items())],
    )


def _moment(value: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(value)


def execute_many(cursor: CursorWrapper, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """`executemany`; psycopg2 has its own, which makes one round trip of all rows."""
    if not rows:
        return
    if connection.vendor == "postgresql":
        from psycopg2.extras import execute_batch

        execute_batch(cursor.cursor, sql, rows)
    else:
        cursor.executemany(sql, rows)
