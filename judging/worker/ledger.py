"""The ledger of a run in the database: attempts before they are sent, answers on arrival."""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import DataError, connection, transaction
from django.db.backends.utils import CursorWrapper

from judging.engine.interface import (
    AttemptEnd,
    BudgetInUse,
    BudgetQueue,
    Halted,
    JudgeAnswer,
    JudgeQuestion,
    LedgerFailed,
    Outcome,
    Parameters,
    Stopped,
    Usage,
)
from judging.models import NANO, Attempt, Judge, JudgeRun, Judgment
from judging.worker.budgets import AMOUNTS, LockedBudgets, add_removed
from judging.worker.endpoints import reply_limit
from judging.worker.writer import Writer
from studies.models import Choice, Side
from studies.services.studies import freeze
from studies.statements import clock
from studies.statements.bulk import Statements

# Tokens that a chat template or a structured reply form can add to a prompt.
_FRAME_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; `cached` is that of input from the server's cache."""

    input: Decimal
    output: Decimal
    cached: Decimal

    @classmethod
    def of(cls, judge: Judge, share: Decimal) -> "Prices | None":
        """The prices of a judge, times `share`; None if it has none."""
        if judge.price_input is None or judge.price_output is None:
            return None
        cached = judge.price_input if judge.price_cached_input is None else judge.price_cached_input
        return cls(judge.price_input * share, judge.price_output * share, cached * share)


@dataclass(frozen=True, slots=True)
class Opening:
    run_id: int
    judgment_id: int
    number: int
    sent_at: datetime
    most_nano: int | None  # its maximum cost, which stays if no answer ever comes
    most: Usage
    parameters: Parameters | None = None  # None if nothing is sent
    lease: str = ""  # under which the judgment is asked


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
    answer: JudgeAnswer | None
    choice: str
    probabilities: str | None  # as JSON
    details: str | None  # as JSON
    earlier: str | None  # the replies to the steps that are over, as JSON
    freezes: bool


def price(prices: Prices | None, usage: Usage | None) -> int | None:
    """Cost in billionths of a dollar; None if the judge has no price. No usage costs nothing.

    What the server says it has charged counts more than the prices.
    """
    if usage is not None and usage.cost is not None:
        return round(usage.cost * NANO)
    if prices is None:
        return None
    if usage is None:
        return 0
    per_million = prices.input * (usage.prompt_tokens - usage.cached_tokens)
    per_million += prices.cached * usage.cached_tokens
    per_million += prices.output * usage.completion_tokens
    return int(per_million * (NANO // 10**6))


def most_of(question: JudgeQuestion, *, reply_tokens: int) -> Usage:
    """The maximum tokens of a request: no tokenizer makes more tokens of a text than bytes.

    Pictures and sounds count by their rough number of tokens. A server that gives probabilities may
    read the prompt once for each question.
    """
    sent = sum(
        _bytes(message.text) + sum(each.tokens for each in message.media)
        for message in question.asking
    )
    sent += _FRAME_TOKENS * len(question.asking)
    if question.closed is not None:
        sent = (sent + _bytes(question.closed.words)) * question.closed.questions
    return Usage(sent, reply_tokens)


class LedgerRows:
    """Creates rows for the questions of one lease, with the judge's prices and the budget's room.

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
        self._freezes = run.study.frozen_at is None  # saves a query per batch later
        self._room, self._thinks = reply_limit(judge), judge.thinking_tokens > 0
        self._prices = Prices.of(judge, price_share)

    def opening(self, question: JudgeQuestion, number: int, parameters: Parameters) -> Opening:
        most = self.most(question)
        return Opening(
            self._run_id,
            question.id,
            number,
            clock.now(),
            price(self._prices, most),
            most,
            parameters if parameters.values else None,
            self._lease,
        )

    def closing(
        self,
        question: JudgeQuestion,
        number: int,
        end: AttemptEnd,
        replies: int,
        outcome: Outcome,
    ) -> Closing:
        usage, is_estimate = end.usage, False
        if usage is None and end.maybe_billed:
            is_estimate = True
            usage = self._guess(question, end.text) if end.text else self.most(question)
        contents = contents_of(self._sides[question.id])
        answer = outcome if isinstance(outcome, JudgeAnswer) else None
        following = outcome if isinstance(outcome, JudgeQuestion) else None
        earlier = (following or question).earlier
        details = _by_response(answer.details, contents) if answer else None
        sides = (following or question).probabilities
        if answer and answer.probabilities is not None:
            sides = answer.probabilities
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
            replies=0 if following else replies,
            answer=answer,
            choice=contents[answer.side] if answer and answer.side else "",
            probabilities=_probabilities(sides, contents),
            details=json.dumps(details) if details else None,
            earlier=json.dumps(earlier) if earlier else None,
            freezes=self._freezes,
        )

    def most(self, question: JudgeQuestion) -> Usage:
        return most_of(question, reply_tokens=self._room)

    def _guess(self, question: JudgeQuestion, text: str) -> Usage:
        """The highest possible usage of a reply without reported usage."""
        most = self.most(question)
        if self._thinks:  # thinking does not show in the reply's text
            return most
        return Usage(most.prompt_tokens, min(self._room, _bytes(text) + 1))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


class RunLedger:
    """`engine.interface.AttemptLedger` of one leased chunk of a run."""

    def __init__(
        self,
        *,
        writer: Writer,
        rows: LedgerRows,
        budget_queue: BudgetQueue,
        is_stopping: Callable[[], bool],
    ) -> None:
        self.budget_queue = budget_queue
        self._writer = writer
        self._rows = rows
        self._is_stopping = is_stopping
        self._under_way: dict[int, float] = {}  # since when, by question

    @property
    def oldest(self) -> float | None:
        """The start of the oldest request under way; None if there is none."""
        return min(self._under_way.copy().values(), default=None)

    async def open(self, question: JudgeQuestion, number: int, parameters: Parameters) -> None:
        if self._is_stopping():
            raise Halted("The worker is shutting down.")
        self._under_way[question.id] = time.monotonic()
        try:
            await self._writer.write(self._rows.opening(question, number, parameters))
        except (Stopped, BudgetInUse, LedgerFailed):
            del self._under_way[question.id]  # nothing is sent
            raise

    async def close(
        self,
        question: JudgeQuestion,
        number: int,
        end: AttemptEnd,
        replies: int,
        outcome: Outcome,
    ) -> None:
        await self._writer.write(self._rows.closing(question, number, end, replies, outcome))
        self._under_way.pop(question.id, None)
        self.budget_queue.notify()


def contents_of(shown_first: str) -> dict[str, str]:
    """The responses behind the prompt's letters."""
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return {"A": str(shown_first), "B": str(second), "C": str(Choice.TIE)}


def _probabilities(
    probabilities: Mapping[Any, float] | None, contents: Mapping[str, str]
) -> str | None:
    if probabilities is None:
        return None
    return json.dumps({contents[side]: share for side, share in probabilities.items()})


def _by_response(details: Any, contents: Mapping[str, str]) -> Any:
    """Details of an answer, with responses in place of the prompt's letters, as keys and values."""
    if isinstance(details, Mapping):
        return {contents.get(key, key): _by_response(of, contents) for key, of in details.items()}
    return contents.get(details, details) if isinstance(details, str) else details


def apply(rows: Sequence[Opening | Closing]) -> list[Exception | None]:
    """Write the rows in one transaction, refusing attempts that must not be sent.

    The workers of a run wait for its row, so as much as possible is done beforehand, and the rest
    in as few round trips as possible.
    """
    closings = [row for row in rows if isinstance(row, Closing)]
    openings = [row for row in rows if isinstance(row, Opening)]
    runs = {row.run_id for row in rows}
    if _runs_with_budgets.isdisjoint(runs) and _apply_at_once(openings, closings):
        return [None] * len(rows)
    with transaction.atomic(), connection.cursor() as cursor:
        if closings:
            _freeze(closings)
        statements = Statements(cursor)
        _close_attempts(statements, closings)
        _store_replies(statements, closings)
        budgets = LockedBudgets.lock(runs)
        (_runs_with_budgets.update if budgets.exist else _runs_with_budgets.difference_update)(runs)
        if closings:
            known = _attempts_of(cursor, closings)
            _add_to_runs(statements, closings, known)
            _keep_costs_of_removed([r for r in closings if (r.judgment_id, r.number) not in known])
        if openings and budgets.exist:
            statements.execute()  # what was spent counts
        refusals = _refusals(budgets, openings)
        granted = [row for row in openings if id(row) not in refusals]
        _store_parameters(statements, granted)
        _open_attempts(statements, granted)
        statements.execute()
    return [refusals.get(id(row)) for row in rows]


def _apply_at_once(openings: Sequence[Opening], closings: Sequence[Closing]) -> bool:
    """Write rows in one round trip if no decisions are needed; otherwise return False.

    Only for PostgreSQL, where statements sent together are one transaction. The run's row is locked
    only while the server works, not while this process waits.
    """
    if connection.vendor != "postgresql" or connection.in_atomic_block:
        return False
    if any(row.freezes and row.answer is not None for row in closings):
        return False
    with connection.cursor() as cursor:
        statements = Statements(cursor)
        runs = sorted({row.run_id for row in openings} | {row.run_id for row in closings})
        statements.add(
            "SELECT FROM judging_judgerun WHERE id = %s FOR NO KEY UPDATE", [(pk,) for pk in runs]
        )
        statements.add(
            _FAIL_UNLESS_USUAL,
            [
                (
                    sorted({row.run_id for row in openings}),
                    sorted({parameters.sha256 for parameters in _parameters(openings)}),
                    [row.judgment_id for row in closings],
                    [row.number for row in closings],
                    [row.judgment_id for row in openings if row.lease],
                    [row.lease for row in openings if row.lease],
                )
            ],
        )
        _close_attempts(statements, closings)
        _store_replies(statements, closings)
        _add_to_runs(statements, closings, {})
        _open_attempts(statements, openings)
        try:
            statements.execute()
        except DataError:  # nothing is written
            return False
    return True


# Fail the transaction unless the runs are active and have no budget, the parameters are stored, the
# ending attempts are known and not lost, and the starting ones belong to judgments that are still
# ours.
_FAIL_UNLESS_USUAL = """
WITH given AS (
    SELECT %s::bigint[] AS runs, %s::text[] AS parameters,
           %s::bigint[] AS judgments, %s::bigint[] AS numbers,
           %s::bigint[] AS asked, %s::text[] AS leases
), found AS (
    SELECT
        (SELECT count(*) FROM judging_judgerun r
         WHERE r.id = ANY(given.runs) AND r.state IN ('queued', 'running')
           AND r.budget IS NULL AND r.token_budget IS NULL
           AND NOT EXISTS (
               SELECT FROM judging_campaign_runs l JOIN judging_campaign c ON c.id = l.campaign_id
               WHERE l.judgerun_id = r.id
                 AND (c.budget IS NOT NULL OR c.token_budget IS NOT NULL)
           )) AS runs,
        (SELECT count(*) FROM judging_sentparameters p
         WHERE p.sha256 = ANY(given.parameters)) AS parameters,
        (SELECT count(*) FROM unnest(given.judgments, given.numbers) e (judgment, number)
         JOIN judging_attempt a ON a.judgment_id = e.judgment AND a.number = e.number
         WHERE a.outcome = 'sent') AS attempts,
        (SELECT count(*) FROM unnest(given.asked, given.leases) o (judgment, lease)
         JOIN judging_judgment j ON j.id = o.judgment AND j.lease = o.lease
         WHERE j.state = 'leased') AS held
    FROM given
)
SELECT CASE
    WHEN found.runs < cardinality(given.runs)
      OR found.parameters < cardinality(given.parameters)
      OR found.attempts < cardinality(given.judgments)
      OR found.held < cardinality(given.asked)
    -- With a count, because the planner computes constants in advance.
    THEN ('To be written step by step, known attempts: ' || found.attempts)::int
END
FROM given, found
"""
# Known from the last commit, so that the statement above does not fail again each time.
_runs_with_budgets: set[int] = set()


def apply_again(rows: Sequence[Opening | Closing]) -> list[Exception | None]:
    """`apply` after a connection broke during it; committed rows stay as they are."""
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
        # A lost one may still end: its worker was only silent.
        return outcome in (Attempt.Outcome.SENT, Attempt.Outcome.LOST)

    left = [row for row in rows if is_left(row)]
    refusals = {id(row): refusal for row, refusal in zip(left, apply(left), strict=True)}
    return [refusals.get(id(row)) for row in rows]


def _freeze(closings: Sequence[Closing]) -> None:
    for study_id in sorted({r.study_id for r in closings if r.freezes and r.answer is not None}):
        freeze(study_id)


def _refusals(budgets: LockedBudgets, rows: Sequence[Opening]) -> dict[int, Exception]:
    """Reasons why attempts must not be sent, or not yet; by the row's `id`."""
    refusals: dict[int, Exception] = {}
    leases: dict[int, str] = {}
    if rows:
        budgets.count()
        asked = Judgment.everything.filter(pk__in=[row.judgment_id for row in rows])
        leases = dict(asked.filter(state=Judgment.State.LEASED).values_list("pk", "lease"))
    for row in rows:
        state = budgets.states[row.run_id]
        if state not in JudgeRun.ACTIVE:
            refusals[id(row)] = Halted(f"The run is {JudgeRun.State(state).label}.")
        elif row.lease and leases.get(row.judgment_id) != row.lease:
            refusals[id(row)] = Halted("Another worker has taken the question over.")
        elif refusal := budgets.take(row.run_id, row.most_nano, row.most):
            refusals[id(row)] = refusal
    return refusals


def _parameters(rows: Sequence[Opening]) -> list[Parameters]:
    return [row.parameters for row in rows if row.parameters]


def _store_parameters(statements: Statements, rows: Sequence[Opening]) -> None:
    """Store parameters that are not stored yet; in a fixed order, to prevent deadlocks."""
    now, sent = _moment(clock.now()), {each.sha256: each.text for each in _parameters(rows)}
    statements.add(
        "INSERT INTO judging_sentparameters (sha256, parameters, created_at)"
        " VALUES (%s, %s, %s) ON CONFLICT (sha256) DO NOTHING",
        [(sha256, text, now) for sha256, text in sorted(sent.items())],
    )


def _open_attempts(statements: Statements, rows: Sequence[Opening]) -> None:
    now = _moment(clock.now())
    statements.add(
        "INSERT INTO judging_attempt (judgment_id, number, outcome, sent_at, sent_with_id,"
        " prompt_tokens, completion_tokens, cost_nano, cost_is_estimate, text, error, request_id,"
        " created_at) VALUES (%s, %s, 'sent', %s,"
        " (SELECT id FROM judging_sentparameters WHERE sha256 = %s),"
        " %s, %s, %s, %s, '', '', '', %s)",
        [
            (
                r.judgment_id,
                r.number,
                _moment(r.sent_at),
                r.parameters.sha256 if r.parameters else None,
                r.most.prompt_tokens,
                r.most.completion_tokens,
                r.most_nano,
                True,
                now,
            )
            for r in rows
        ],
    )


def _close_attempts(statements: Statements, rows: Sequence[Closing]) -> None:
    statements.add(
        "UPDATE judging_attempt SET outcome = %s, status_code = %s, latency_ms = %s,"
        " prompt_tokens = %s, completion_tokens = %s, reasoning_tokens = %s, cached_tokens = %s,"
        " cost_nano = %s, cost_is_estimate = %s,"
        " text = %s, error = %s, request_id = %s WHERE judgment_id = %s AND number = %s",
        [
            (
                r.end.outcome,
                r.end.status,
                r.end.latency_ms,
                r.usage.prompt_tokens if r.usage else None,
                r.usage.completion_tokens if r.usage else None,
                r.usage.reasoning_tokens if r.usage else None,
                None if r.usage is None or r.usage_is_estimate else r.usage.cached_tokens,
                r.cost_nano,
                r.usage_is_estimate,
                r.end.text,
                r.end.error,
                r.end.request_id,
                r.judgment_id,
                r.number,
            )
            for r in rows
        ],
    )


_NOT_ASKED_AGAIN = (
    "id = %s AND state IN ('pending', 'leased') AND NOT EXISTS (SELECT 1 FROM judging_attempt a"
    " WHERE a.judgment_id = judging_judgment.id AND a.number > %s)"
)


def _store_replies(statements: Statements, rows: Sequence[Closing]) -> None:
    """Store replies to open judgments that nobody has asked again since.

    The lease may have expired: a late reply is paid for too.
    """
    unanswered = [r for r in rows if r.answer is None and r.end.outcome == "replied"]
    statements.add(
        "UPDATE judging_judgment SET replies = %s, earlier_replies = %s, probabilities = %s"  # noqa: S608
        f" WHERE {_NOT_ASKED_AGAIN}",
        [(r.replies, r.earlier, r.probabilities, r.judgment_id, r.number) for r in unanswered],
    )
    now = _moment(clock.now())
    statements.add(
        "UPDATE judging_judgment SET state = %s, choice = %s, certainty = %s, probabilities = %s,"  # noqa: S608
        " details = %s, raw_text = %s, replies = %s, model_snapshot = %s, fingerprint = %s,"
        " error = %s,"
        " sent_with_id = (SELECT a.sent_with_id FROM judging_attempt a"
        " WHERE a.judgment_id = judging_judgment.id AND a.number = %s),"
        f" answered_at = %s, leased_until = NULL WHERE {_NOT_ASKED_AGAIN}",
        [
            (
                r.answer.state,
                r.choice,
                r.answer.certainty,
                r.probabilities,
                r.details,
                r.answer.text,
                r.replies,
                r.answer.model,
                r.answer.fingerprint,
                r.answer.error,
                r.number,
                now,
                r.judgment_id,
                r.number,
            )
            for r in rows
            if r.answer is not None
        ],
    )


def _attempts_of(
    cursor: CursorWrapper, rows: Sequence[Closing]
) -> dict[tuple[int, int], tuple[int, int] | None]:
    """The attempts of the rows' judgments by judgment and number, with the amounts of lost ones.

    A worker that was silent beyond its lease, but not dead, can still end attempts that count as
    lost. The others have None.
    """
    cursor.execute(
        "SELECT judgment_id, number, outcome, cost_nano, prompt_tokens,"  # noqa: S608
        " completion_tokens FROM judging_attempt"
        f" WHERE judgment_id IN ({', '.join(['%s'] * len(rows))})",
        [row.judgment_id for row in rows],
    )
    return {
        (judgment, number): (nano or 0, (sent or 0) + (got or 0)) if outcome == "lost" else None
        for judgment, number, outcome, nano, sent, got in cursor.fetchall()
    }


def _keep_costs_of_removed(rows: Sequence[Closing]) -> None:
    """Count requests whose judgments were removed while in progress.

    Their cost goes to the runs, whose rows are locked, because no attempt records it.
    """
    spent = _spent(rows, {})
    for run in JudgeRun.objects.filter(pk__in=spent) if spent else ():
        add_removed(run, dict(zip(AMOUNTS, spent[run.pk], strict=True)))


def _add_to_runs(
    statements: Statements,
    rows: Sequence[Closing],
    known: Mapping[tuple[int, int], tuple[int, int] | None],
) -> None:
    """Add usage and retries to the runs; an end replaces the amount of a lost attempt."""
    now = _moment(clock.now())
    statements.add(
        "UPDATE judging_judgerun SET spent_nano = spent_nano + %s,"
        " tokens = tokens + %s, retries = retries + %s, touched_at = %s WHERE id = %s",
        [(*sums, now, run_id) for run_id, sums in sorted(_spent(rows, known).items())],
    )


def _spent(
    rows: Sequence[Closing], known: Mapping[tuple[int, int], tuple[int, int] | None]
) -> dict[int, list[int]]:
    """Cost in nano-dollars, tokens and failures that the rows add to each run."""
    spent: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        sums = spent[row.run_id]
        sums[0] += row.cost_nano or 0
        if row.usage is not None:
            sums[1] += row.usage.total
        sums[2] += row.end.outcome != "replied"
        if lost := known.get((row.judgment_id, row.number)):
            nano, tokens = lost
            sums[0] -= nano
            sums[1] -= tokens
            sums[2] -= 1
    return spent


def _moment(value: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(value)
