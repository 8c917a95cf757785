"""Groups of runs: juries, and runs with a bias probe.

Runs with a probe are not judges of the study: only the section about probes reads them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from analysis.data.arrays import (
    CODE,
    MISSING,
    Codes,
    Dataset,
    Index,
    ItemData,
    Judgments,
    RunData,
    RunMoney,
)
from analysis.data.verdicts import FAILURES, run_verdicts
from judging.bias.probe_choices import probe_choice
from judging.bias.probes import RULES_BY_SIDE, Maker, own_sides, own_source, target_of

if TYPE_CHECKING:
    from judging.models import JudgeRun

T = TypeVar("T", int, float)


def with_juries(data: Dataset, juries: Mapping[str, Sequence[str]]) -> Dataset:
    """Add to `data` a run for every jury whose judges were asked alike.

    Alike means the same setting, features, wording, framing, orders, samples and seed. Each judge
    has one vote per item regardless of its readings: its verdict with its certainty. A judge with
    split readings abstains.
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
    )


def _verdicts_as_judgments(data: Dataset, members: Sequence[RunData]) -> Judgments:
    """One row per judge and item, without an order because a verdict combines several."""
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
    """The sum of costs; unknown if any is unknown."""

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


Makers = Sequence[tuple[Maker, Maker]]


@dataclass(frozen=True, eq=False)
class OwnSides:
    """Which response of each item is the judge's own (0 or 1; -1 if none or both are).

    `sources` are the makers, families or providers that match, sorted.
    """

    side: Codes
    sources: tuple[str, ...]

    @classmethod
    def of(cls, makers: Sequence[tuple[Maker, Maker]], own_sources: Sequence[str]) -> OwnSides:
        """Find them from the makers of both responses of every item."""
        own = {source.casefold() for source in own_sources}
        side = np.full(len(makers), MISSING, dtype=np.int8)
        sources = set()
        for at, pair in enumerate(makers):
            sides = own_sides(pair, own)
            if len(sides) == 1:
                side[at] = CODE[sides[0]]
                source = own_source(pair[CODE[sides[0]]], own)
                sources.add(" ".join(source or ()))
        return cls(side, tuple(sorted(sources)))


@dataclass(frozen=True, eq=False)
class ProbedRun:
    """A run with a probe, or the baseline of probes with a mitigation.

    `name` is stored with the run; `probe` is that without mitigations, empty for a baseline. `rule`
    says which response the probe favours, empty if it changes the profile, and `target` which one
    that is for each judgment, -1 if there is none. `asked_as` is equal for runs that differ only in
    probe, mitigations, orders and samples. A judge should follow a control, so that is no bias.
    """

    run: RunData
    name: str
    baseline: str
    probe: str
    description: str
    mitigations: tuple[str, ...]
    rule: str
    target: Codes
    asked_as: tuple[Any, ...]
    own: OwnSides | None = None
    is_control: bool = False

    @property
    def is_by_side(self) -> bool:
        return self.rule in RULES_BY_SIDE

    def fed(self) -> list[Any]:
        """Its identity in the hash of a report's inputs."""
        run = self.run
        conditions = [run.state, run.snapshots, dict(run.parameters), asdict(run.cost)]
        return [run.run, run.judge, run.setting, run.features, self.name, *conditions]


def probed(row: JudgeRun, run: RunData, items: Sequence[ItemData], makers: Makers) -> ProbedRun:
    """Turn a stored run into a run with a probe, or an ordinary run into a baseline.

    `makers` are those of both responses of every item; empty if no run needs them.
    """
    choice = probe_choice(row.bias_probe)
    probe, rows = choice.probe, run.judgments
    has_target = probe is not None and probe.has_target
    target = np.full(len(rows), MISSING, dtype=np.int8)
    if has_target:
        sides_first = ("r1", "r2")
        pairs = zip(rows.item.tolist(), rows.shown_first.tolist(), strict=True)
        target[:] = [
            CODE[
                target_of(
                    choice.rule, seed=row.seed, item=items[i].key, shown_first=sides_first[first]
                )
            ]
            for i, first in pairs
        ]
    return ProbedRun(
        run=run,
        name=choice.name,
        baseline=choice.baseline.name,
        probe=choice.probe_words if probe is not None else "",
        description=probe.description if probe is not None else "",
        mitigations=choice.mitigations,
        rule=choice.rule if has_target else "",
        target=target,
        asked_as=_asked_as(row),
        own=OwnSides.of(makers, row.parameters.get("own_sources", ())) if choice.asks_own else None,
        is_control=probe is not None and probe.is_control,
    )


def _asked_as(run: JudgeRun) -> tuple[Any, ...]:
    from judging.models import SAMPLED

    settings = (run.setting, run.features, run.wording_id, run.framing, run.prompt_language)
    parameters = tuple(repr(run.parameters.get(name)) for name in SAMPLED)
    return (run.judge_id, *settings, run.reading, run.seed, *parameters)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The readings of questions that two runs have in common, by item, order and sample.

    `first` and `second` are the positions of their judgments, in the same order.
    """

    first: Index
    second: Index


def pairs_of(first: RunData, second: RunData) -> Pairs:
    """The questions that both runs asked, whether or not they were answered."""
    a, b = (_questions(run) for run in (first, second))
    _, one, two = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return Pairs(np.asarray(one, dtype=np.int64), np.asarray(two, dtype=np.int64))


def _questions(run: RunData) -> Index:
    """One number per judgment, equal for the same question in two runs."""
    rows = run.judgments
    return (rows.item * 4 + rows.shown_first + 1) * 1_000 + rows.sample


def baseline_of(probed_run: ProbedRun, others: Sequence[ProbedRun], name: str) -> ProbedRun | None:
    """The run named `name`, asked alike, that shares the most questions.

    None if there is none.
    """
    alike = [
        other for other in others if other.name == name and other.asked_as == probed_run.asked_as
    ]

    def shared(other: ProbedRun) -> tuple[int, str]:
        return pairs_of(probed_run.run, other.run).first.size, other.run.run

    return max(alike, key=shared, default=None)
