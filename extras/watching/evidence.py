"""What a watched set's looks show about the judge, the items and the people."""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.stats.core.results import FloatArray
from extras.watching.stats.means import rise, shift
from extras.watching.stats.newcomers import of_categories, of_numbers

JUDGE, ITEMS, PEOPLE = "judge", "items", "people"
KINDS = (JUDGE, ITEMS, PEOPLE)
LEVEL = 0.05
# Each kind may be wrong in a third of 5 %, so that at most 5 % of unchanged sets show anything.
ENOUGH = len(KINDS) / LEVEL
# From here on the judge may have moved, so that its certainty says nothing about new items.
_HINT = 3.0
NUMBERS = ("question", "responses")
CATEGORIES = ("topic", "language")


@dataclass(frozen=True)
class Baseline:
    """Numbers of a set when it was frozen.

    `choices`, `certainties`: of each item and each time it was asked again at once, the share of
    questions with another choice than the frozen one, and the difference in certainty / 100.
    `people`: each annotator's share of answers that differ from the judge's frozen ones.
    `items`: features of one item of each persona.
    """

    choices: Sequence[float]
    certainties: Sequence[float]
    people: Sequence[float]
    items: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class LookNumbers:
    """The same numbers at a look: of all items, and of annotators and items new since the last."""

    choices: Sequence[float] = ()
    certainties: Sequence[float] = ()
    people: Sequence[float] = ()
    items: Sequence[Mapping[str, Any]] = ()
    higher: float = 0.0  # how much higher certainties are than the frozen ones, on average


@dataclass(frozen=True)
class Evidence:
    """E-values of one kind after each look."""

    values: FloatArray

    @property
    def largest(self) -> float:
        return float(self.values.max(initial=1.0))

    @property
    def shown_at(self) -> int | None:
        """The number of the look, from 1, at which a move was first shown."""
        where = np.flatnonzero(self.values >= ENOUGH)
        return int(where[0]) + 1 if where.size else None


def evidence(baseline: Baseline, looks: Sequence[LookNumbers], *, seed: str) -> dict[str, Evidence]:
    """The evidence of each kind after each look. The same seed breaks the same ties."""
    judge = _of_judge(baseline, looks)
    return {
        JUDGE: Evidence(judge),
        ITEMS: Evidence(_of_items(baseline, looks, judge, seed)),
        PEOPLE: Evidence(_of_people(baseline, looks)),
    }


def _of_judge(baseline: Baseline, looks: Sequence[LookNumbers]) -> FloatArray:
    """Choices that change more often, or certainties that change more, than when asked at once."""
    kinds = [rise(baseline.choices, [look.choices for look in looks])]
    if baseline.certainties:
        kinds.append(rise(baseline.certainties, [look.certainties for look in looks]))
    return _mean(kinds, len(looks))


def _of_people(baseline: Baseline, looks: Sequence[LookNumbers]) -> FloatArray:
    if not baseline.people:
        return np.ones(len(looks))
    return shift(baseline.people, [look.people for look in looks])


def _of_items(
    baseline: Baseline, looks: Sequence[LookNumbers], judge: FloatArray, seed: str
) -> FloatArray:
    features = []
    for name in (*NUMBERS, *CATEGORIES, "certainty"):
        rng = np.random.default_rng(zlib.crc32(f"{seed}|{name}".encode()))
        before = [item[name] for item in baseline.items if item[name] is not None]
        new = [[item[name] for item in look.items if item[name] is not None] for look in looks]
        if name == "certainty":
            # What the judge states higher for the same items is not due to new ones.
            new = [
                [value - look.higher for value in values] if e < _HINT else []
                for values, look, e in zip(new, looks, judge.tolist(), strict=True)
            ]
        if before and any(new):
            test = of_categories if name in CATEGORIES else of_numbers
            features.append(test(before, new, rng=rng))
    return _mean(features, len(looks))


def _mean(kinds: Sequence[FloatArray], looks: int) -> FloatArray:
    """The mean of e-values, which is an e-value."""
    return np.mean(kinds, axis=0) if kinds else np.ones(looks)
