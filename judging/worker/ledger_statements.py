"""What the ledger writes of requests and answers, as plain SQL in one transaction."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import DataError, connection, transaction
from django.db.backends.utils import CursorWrapper

from judging.engine.interface import Halted, Parameters
from judging.models import Attempt, JudgeRun, Judgment
from judging.worker.budgets import AMOUNTS, LockedBudgets, add_removed
from judging.worker.ledger import Closing, Opening
from studies.services.studies import freeze
from studies.statements import clock
from studies.statements.bulk import Statements


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
    now, sent = (
        _moment(clock.now()),
        {sent_parameters.sha256: sent_parameters.text for sent_parameters in _parameters(rows)},
    )
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
