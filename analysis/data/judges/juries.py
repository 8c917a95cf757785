"""Juries: the verdicts of several judges, counted as one more run of the report."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np

from analysis.data.arrays import MISSING, Dataset, Judgments, RunData, RunMoney
from analysis.data.verdicts import FAILURES, run_verdicts

T = TypeVar("T", int, float)


def with_juries(data: Dataset, juries: Mapping[str, Sequence[str]]) -> Dataset:
    """`data` with a run for every jury whose judges were all asked alike.

    Alike means the same setting, features, wording, framing, orders, samples and seed. Each judge
    has one vote on an item, whatever its number of readings: its verdict, with its certainty. A
    judge whose own readings are split abstains.
    """
    if not juries:
        return data
    alike: dict[tuple[Any, ...], dict[str, RunData]] = defaultdict(dict)
    for run in data.runs:
        asked = (run.setting, run.features, *run.way, run.orders, run.samples, run.seed)
        alike[asked][run.judge] = run
    formed = [
        jury_run(data, name, [runs[judge] for judge in sorted(judges)])
        for name, judges in sorted(juries.items())
        for _, runs in sorted(alike.items(), key=lambda pair: pair[0])
        if set(judges) <= runs.keys()
    ]
    return replace(data, runs=(*data.runs, *formed))


def jury_run(data: Dataset, name: str, members: Sequence[RunData]) -> RunData:
    first = members[0]
    key = sha256("|".join([name, *(member.run for member in members)]).encode()).hexdigest()
    ended = all(member.state == "done" for member in members)
    return replace(
        first,
        run=key,
        judge=name,
        backend="jury",
        is_jury=True,
        snapshots=tuple(sorted({snapshot for run in members for snapshot in run.snapshots})),
        parameters={"judges": [run.judge for run in members], "runs": [run.run for run in members]},
        state="done" if ended else "running",
        state_reason="Every judge of the jury is done." if ended else "Not every judge is done.",
        cost=sum_of_costs([run.cost for run in members]),
        judgments=_verdicts_as_judgments(data, members),
        samples=1,
        sent=(),
        reported=(),
        conditions=(),
        anchors=None,
    )


def _verdicts_as_judgments(data: Dataset, members: Sequence[RunData]) -> Judgments:
    """One row per judge and item, without an order: a verdict combines several orders."""
    rows: list[tuple[Any, ...]] = []
    for number, run in enumerate(members, start=1):
        verdicts = run_verdicts(data, run)
        failed: dict[int, str] = {}
        for status in reversed(FAILURES):
            for item in run.judgments.item[run.judgments.status == status]:
                failed[int(item)] = status
        for item in np.unique(run.judgments.item).tolist():
            answer, certainty = int(verdicts.answer[item]), float(verdicts.certainty[item])
            if answer >= 0:
                rows.append((item, MISSING, number, answer, certainty, "done", 1, [np.nan] * 3))
            elif not verdicts.majority.n_votes[item]:
                rows.append((item, MISSING, number, MISSING, np.nan, failed[item], 0, [np.nan] * 3))
    columns = ([row[place] for row in rows] for place in range(len(fields(Judgments))))
    return Judgments.from_columns(*columns)


def sum_of_costs(costs: Sequence[RunMoney]) -> RunMoney:
    """The sum of costs; unknown if any part is unknown."""

    def total(parts: Sequence[T | None]) -> T | None:
        known = [part for part in parts if part is not None]
        return sum(known[1:], known[0]) if known and len(known) == len(parts) else None

    return RunMoney(
        sum(cost.requests for cost in costs),
        sum(cost.failed_requests for cost in costs),
        total([cost.tokens_in for cost in costs]),
        total([cost.tokens_out for cost in costs]),
        total([cost.usd for cost in costs]),
    )
