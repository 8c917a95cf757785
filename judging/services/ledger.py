"""The ledger of a run in the database: attempts before they are sent, answers as they land."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
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
from judging.models import NANO, Attempt, JudgeRun
from judging.services.judges import room_of
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
    has_campaign_budget: bool = False


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


class Rows:
    """Makes the rows about the questions of one lease; the judge's prices and room are in them.

    `price_share` is the part of the price that these requests cost.
    """

    def __init__(
        self,
        run: JudgeRun,
        lease: str,
        sides: Mapping[int, str],
        *,
        price_share: Decimal = Decimal(1),
    ) -> None:
        judge = run.judge
        self._run_id, self._study_id, self._lease = run.pk, run.study_id, lease
        self._sides = sides
        self._freezes = run.study.frozen_at is None  # spares a query per batch later on
        self._has_campaign_budget = (
            run.campaigns.exclude(budget=None, token_budget=None).exists() if run.pk else False
        )
        self._room = room_of(judge)
        self._prices: Prices | None = None
        if judge.price_input is not None and judge.price_output is not None:
            self._prices = judge.price_input * price_share, judge.price_output * price_share

    def opening(self, question: Question, number: int) -> Opening:
        return Opening(
            self._run_id,
            question.id,
            number,
            timezone.now(),
            price(self._prices, self.most(question)),
            self._has_campaign_budget,
        )

    def closing(
        self, question: Question, number: int, end: AttemptEnd, replies: int, answer: Answer | None
    ) -> Closing:
        usage, is_estimate = end.usage, False
        if usage is None and end.maybe_billed:
            is_estimate = True
            usage = self._guess(question, end.text) if end.text else self.most(question)
        contents = _contents(self._sides[question.id])
        return Closing(
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

    def most(self, question: Question) -> Usage:
        """Tokens that a request can use at most."""
        return Usage(len(question.prompt) // 3 + 1, self._room)

    def _guess(self, question: Question, text: str) -> Usage:
        """Tokens of a reply whose usage nobody told: rather too many than too few."""
        return Usage(len(question.prompt) // 3 + 1, len(text) // 3 + 1)


class RunLedger:
    """`engine.protocol.Ledger` of one leased chunk of a run."""

    def __init__(self, *, writer: Writer, rows: Rows, is_stopping: Callable[[], bool]) -> None:
        self._writer = writer
        self._rows = rows
        self._is_stopping = is_stopping
        self._under_way: dict[int, float] = {}  # since when, by question

    @property
    def oldest(self) -> float | None:
        """Since when the request is under way that was begun first; None while there is none."""
        return min(self._under_way.copy().values(), default=None)

    async def open(self, question: Question, number: int) -> None:
        if self._is_stopping():
            raise Halted("The worker is ending.")
        self._under_way[question.id] = time.monotonic()
        try:
            await self._writer.write(self._rows.opening(question, number))
        except (Stopped, LedgerFailed):
            del self._under_way[question.id]  # nothing is sent
            raise

    async def close(
        self, question: Question, number: int, end: AttemptEnd, replies: int, answer: Answer | None
    ) -> None:
        await self._writer.write(self._rows.closing(question, number, end, replies, answer))
        self._under_way.pop(question.id, None)


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
        refusals = _refusals(cursor, openings)
        if granted := [row for row in openings if row.run_id not in refusals]:
            _open_attempts(cursor, granted)
    return [refusals.get(row.run_id) if isinstance(row, Opening) else None for row in rows]


def apply_again(rows: Sequence[Opening | Closing]) -> list[Exception | None]:
    """`apply` after a connection broke on it: what was committed all the same stays as it is."""
    stored = {
        (judgment, number): (outcome, sent_at)
        for judgment, number, outcome, sent_at in Attempt.objects.filter(
            judgment__in=[row.judgment_id for row in rows]
        ).values_list("judgment", "number", "outcome", "sent_at")
    }

    def is_left(row: Opening | Closing) -> bool:
        outcome, sent_at = stored.get((row.judgment_id, row.number), (None, None))
        if isinstance(row, Opening):
            return sent_at != row.sent_at
        # A closing of a request that counts as lost by now comes too late to count again.
        return outcome == Attempt.Outcome.SENT

    left = [row for row in rows if is_left(row)]
    refusals = {id(row): refusal for row, refusal in zip(left, apply(left), strict=True)}
    return [refusals.get(id(row)) for row in rows]


def _freeze(closings: Sequence[Closing]) -> None:
    """The first answer fixes what was asked."""
    for study_id in sorted({r.study_id for r in closings if r.freezes and r.answer is not None}):
        freeze(study_id)


def _refusals(cursor: CursorWrapper, rows: Sequence[Opening]) -> dict[int, Exception]:
    """Runs that may send nothing more, and why."""
    refusals: dict[int, Exception] = {}
    for run_id in {row.run_id for row in rows}:
        cursor.execute(
            "SELECT state, budget, token_budget, spent_nano, tokens"
            " FROM judging_judgerun WHERE id = %s",
            [run_id],
        )
        state, *limits_and_use = cursor.fetchone()
        if state not in JudgeRun.ACTIVE:
            refusals[run_id] = Halted(f"The run is {JudgeRun.State(state).label}.")
        elif sentence := _used_up(*limits_and_use):
            refusals[run_id] = OverBudget(f"The budget of {sentence}")
    for run_id in {row.run_id for row in rows if row.has_campaign_budget} - refusals.keys():
        cursor.execute(_CAMPAIGN_USE, [run_id])
        for name, budget, token_budget, spent, tokens in cursor.fetchall():
            if sentence := _used_up(budget, token_budget, spent, tokens, option="budget in it"):
                refusals[run_id] = OverBudget(f"The budget of campaign “{name}”, {sentence}")
    return refusals


_CAMPAIGN_USE = """
SELECT c.name, c.budget, c.token_budget, SUM(r.spent_nano), SUM(r.tokens)
FROM judging_campaign_runs mine
JOIN judging_campaign c ON c.id = mine.campaign_id
JOIN judging_campaign_runs member ON member.campaign_id = c.id
JOIN judging_judgerun r ON r.id = member.judgerun_id
WHERE mine.judgerun_id = %s AND (c.budget IS NOT NULL OR c.token_budget IS NOT NULL)
GROUP BY c.id, c.name, c.budget, c.token_budget
"""


def _used_up(
    budget: Any, token_budget: int | None, spent_nano: int, tokens: int, *, option: str = ""
) -> str:
    """The end of a sentence where nothing more may be spent; empty otherwise."""
    if budget is not None and spent_nano >= int(Decimal(str(budget)) * NANO):
        return (
            f"${Decimal(str(budget)).normalize():f} is used up: ${spent_nano / NANO:.4f} spent. "
            f"Give the same command a higher {option or '--budget'}."
        )
    if token_budget is not None and tokens >= token_budget:
        return (
            f"{token_budget:,} tokens is used up: {tokens:,} spent. "
            f"Give the same command a higher {option or '--token-budget'}."
        )
    return ""


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
        " prompt_tokens = %s, completion_tokens = %s, reasoning_tokens = %s, cost_nano = %s,"
        " cost_is_estimate = %s,"
        " text = %s, error = %s, request_id = %s WHERE judgment_id = %s AND number = %s",
        [
            (
                r.end.outcome, r.end.status, r.end.latency_ms,
                r.usage.prompt_tokens if r.usage else None,
                r.usage.completion_tokens if r.usage else None,
                r.usage.reasoning_tokens if r.usage else None,
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
    spent: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        spent[row.run_id][0] += row.cost_nano or 0
        if row.usage is not None:
            spent[row.run_id][1] += row.usage.prompt_tokens + row.usage.completion_tokens
        spent[row.run_id][2] += row.end.outcome != "replied"
    now = _moment(timezone.now())
    execute_many(
        cursor,
        "UPDATE judging_judgerun SET spent_nano = spent_nano + %s,"
        " tokens = tokens + %s, retries = retries + %s, touched_at = %s WHERE id = %s",
        [(*sums, now, run_id) for run_id, sums in sorted(spent.items())],
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
