"""Runs that asked with a bias probe, each next to the run that it is compared with.

They are no judges of the study: nothing but the section about probes reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import CODE, MISSING, Codes, Index, ItemData, RunData
from judging.bias.own_responses import Maker, own_sides, own_source
from judging.bias.probe import RULES_BY_SIDE, target_of
from judging.bias.registry import probe_choice
from judging.models import SAMPLED, JudgeRun

Makers = Sequence[tuple[Maker, Maker]]


@dataclass(frozen=True, eq=False)
class OwnSides:
    """Which response of each item is the judge's own.

    Attributes
    ----------
    side : ndarray of int8, shape (items,)
        0 or 1; -1 where none or both are.
    sources : tuple of str
        The makers, families or providers by which they were found, sorted.
    """

    side: Codes
    sources: tuple[str, ...]

    @classmethod
    def of(cls, makers: Sequence[tuple[Maker, Maker]], own_sources: Sequence[str]) -> OwnSides:
        """From the makers of both responses of every item."""
        own = {source.casefold() for source in own_sources}
        side = np.full(len(makers), MISSING, dtype=np.int8)
        sources = set()
        for at, pair in enumerate(makers):
            sides = own_sides(pair, own)
            if len(sides) == 1:
                side[at] = CODE[sides[0]]
                found = own_source(pair[CODE[sides[0]]], own)
                sources.add(" ".join(found or ()))
        return cls(side, tuple(sorted(sources)))


@dataclass(frozen=True, eq=False)
class ProbedRun:
    """A run with a probe, or the baseline of probes with a mitigation.

    Attributes
    ----------
    run : Run
    name : str
        As the run stores it.
    probe, description : str
        The name without mitigations, and what the probe does; empty in a baseline.
    mitigations : tuple of str
    rule : str
        Which response the probe favours; empty if it changes the profile.
    target : ndarray of int8, shape (judgments,)
        The favoured response of each judgment, 0 or 1; -1 if there is none.
    asked_as : tuple
        Equal for runs that differ only in probe, mitigations, orders and samples.
    own : OwnSides or None
        Which responses are the judge's own, in a run that asks about them.
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

    @property
    def unmitigated(self) -> str:
        """The name of the same probe without mitigations."""
        return self.probe

    @property
    def is_by_side(self) -> bool:
        return self.rule in RULES_BY_SIDE

    def fed(self) -> list[Any]:
        """What identifies it in the hash of a report's inputs."""
        run = self.run
        made = [run.state, run.snapshots, dict(run.parameters), asdict(run.cost)]
        return [run.run, run.judge, run.setting, run.features, self.name, *made]


def probed(row: JudgeRun, run: RunData, items: Sequence[ItemData], makers: Makers) -> ProbedRun:
    """A stored run as a run with a probe; an ordinary run as a baseline.

    `makers` are those of both responses of every item; empty if no run needs them.
    """
    choice = probe_choice(row.bias_probe)
    probe, rows = choice.probe, run.judgments
    has_target = probe is not None and probe.has_target
    target = np.full(len(rows), MISSING, dtype=np.int8)
    if has_target:
        shown = ("r1", "r2")
        pairs = zip(rows.item.tolist(), rows.shown_first.tolist(), strict=True)
        target[:] = [
            CODE[target_of(choice.rule, seed=row.seed, item=items[i].key, shown_first=shown[first])]
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
    )


def _asked_as(run: JudgeRun) -> tuple[Any, ...]:
    settings = (run.setting, run.features, run.wording_id, run.framing, run.prompt_language)
    parameters = tuple(repr(run.parameters.get(name)) for name in SAMPLED)
    return (run.judge_id, *settings, run.reading, run.seed, *parameters)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The readings that two runs have of the same questions, by item, order and sample.

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
    """One number per judgment, which is the same for the same question of two runs."""
    rows = run.judgments
    return (rows.item * 4 + rows.shown_first + 1) * 1_000 + rows.sample


def baseline_of(probed_run: ProbedRun, others: Sequence[ProbedRun], name: str) -> ProbedRun | None:
    """Of the runs named `name` that asked alike, the one that shares the most questions.

    None if there is none.
    """
    alike = [
        other for other in others if other.name == name and other.asked_as == probed_run.asked_as
    ]

    def shared(other: ProbedRun) -> tuple[int, str]:
        return pairs_of(probed_run.run, other.run).first.size, other.run.run

    return max(alike, key=shared, default=None)
