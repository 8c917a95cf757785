"""Who is nearer to the right labels, where they are known: a judge, a person, or people together.

People together are their majority or, with steps and scores, their median. A class is right or
wrong, so who is nearer more often is right more often.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Slot,
    Text,
    Words,
    bare,
    clause,
    joined,
    say,
)
from analysis.report.results import Finding, TestResult, not_settled
from analysis.report.words import decimal, percent, points, points_range, reason
from analysis.stats import Adjusted, GeneralDifference, adjusted_states, general_difference
from analysis.stats.core.results import FloatArray, IntArray
from thirdperson.check.scale_table import ScaleTable


@dataclass(frozen=True)
class NearnessGap:
    """Share of items on which a judge is nearer than `other`, minus that of the opposite."""

    other: str
    found: GeneralDifference
    adjusted: Adjusted

    def words(self, judge: str, of: Population, margin: float, *, is_distance: bool) -> Text:
        """Who is right more often, or that it is not settled, as a part of a sentence."""
        right = Words("nearer to the right label" if is_distance else "right")
        names: dict[str, Slot] = {
            "judge": Name(judge),
            "right": right,
            "other": Words(self.other),
        }
        ends, state = self.found.interval, self.adjusted.state
        if self.found.value is None or ends is None:
            why = bare(reason(self.found.interval_reason or self.found.reason))
            open_ = clause("{judge} is {right} more or less often than {other}", **names)
            return clause("{open} ({why})", open=not_settled(open_), why=why)
        interval = QuantityInterval((ends.low, ends.high))
        x = Quantity("points", of, self.found.value, interval=interval)
        is_alike = state == "equivalent"
        p = self.adjusted.p_equivalence if is_alike else self.adjusted.p
        gap = clause("{x} points, {x.interval}", x=x)
        if p is not None:
            gap = clause("{gap}, adjusted p {p}", gap=gap, p=Quantity("p", of, p))
        if is_alike:
            return clause(
                "{judge} is {right} as often as {other}, within {margin} points ({gap})",
                margin=Quantity("margin", None, margin),
                gap=gap,
                **names,
            )
        result = TestResult(x, holds=state in ("different", "different_within_margin"))
        form = "{judge} is {right} {more} often than {other}"
        more = {Finding.ABOVE: "more", Finding.BELOW: "less"}.get(result.finding, "more or less")
        claim = clause(form, more=Words(more), **names)
        if result.finding is Finding.OPEN:
            claim = not_settled(claim)
        return clause("{claim} ({gap})", claim=claim, gap=gap)


@dataclass(frozen=True)
class RightLabels:
    """A judge, a person and people together against the right labels of `n` items.

    `shares` are theirs of right labels or, with `is_distance`, their mean distances from these.
    """

    n: int
    is_distance: bool
    shares: Sequence[float]
    gaps: Sequence[NearnessGap]

    def sentence(self, judge: str, margin: float) -> str:
        of = Population("item", n=self.n)
        parts = [gap.words(judge, of, margin, is_distance=self.is_distance) for gap in self.gaps]
        if self.gaps[0].found.interval_reason:
            parts = parts[:1]
        return str(say("Right labels of {of}: {parts}.", of=of, parts=joined(parts, "; ", "; ")))

    def cells(self) -> Iterator[str]:
        """A row of a table: how near each is, and the gaps."""
        for share in self.shares:
            yield decimal(share, 2) if self.is_distance else percent(share)
        for gap in self.gaps:
            ends = gap.found.interval
            interval = f" ({points_range((ends.low, ends.high))})" if ends else ""
            yield f"{points(gap.found.value)}{interval}"


def right_labels(
    table: ScaleTable, *, these_people: bool, margin: float
) -> Mapping[str, RightLabels]:
    """Each judge that shares items with people and right labels; Holm's method over all gaps."""
    is_distance = table.scale.is_graded
    away = (1 - np.eye(len(table.scale.names)))[table.gold]
    if is_distance:
        values = np.asarray(table.scale.values)
        away = np.abs(values - values[table.gold, None]).round(9)
    counts = table.votes.counts()
    n_people = counts.sum(axis=1)
    sides = {
        "a person": counts / np.maximum(n_people, 1)[:, None],
        **(
            {"the median of people": _median(counts)}
            if is_distance
            else {"the majority of people": _majority(counts)}
        ),
    }
    sharing = table.sharing(these_people=these_people)
    differences = {}
    for judge, choice in table.judges.items():
        both = (table.gold >= 0) & (choice >= 0) & (n_people > 0)
        if not both.any():
            continue
        own = np.take_along_axis(away, choice[:, None], axis=1)
        nearer = np.sign(away - own)
        tests = [
            general_difference(
                np.where(both, (share * nearer).sum(axis=1), np.nan), sharing, margin=margin
            )
            for share in sides.values()
        ]
        means = [own[both].mean(), *((s * away).sum(axis=1)[both].mean() for s in sides.values())]
        shares = [float(mean if is_distance else 1 - mean) for mean in means]
        differences[judge] = int(both.sum()), shares, tests
    adjusted = iter(adjusted_states([test for *_, tests in differences.values() for test in tests]))
    return {
        judge: RightLabels(
            n,
            is_distance,
            shares,
            [
                NearnessGap(other, test, next(adjusted))
                for other, test in zip(sides, tests, strict=True)
            ],
        )
        for judge, (n, shares, tests) in differences.items()
    }


def _majority(counts: IntArray) -> FloatArray:
    """The share of each option in the majority: options that tie share it."""
    most = (counts == counts.max(axis=1, keepdims=True)) & (counts > 0)
    return np.asarray(most / np.maximum(most.sum(axis=1, keepdims=True), 1))


def _median(counts: IntArray) -> FloatArray:
    """The share of each option in the median: between two options, each has half."""
    below, n = counts.cumsum(axis=1), counts.sum(axis=1, keepdims=True)
    unit = np.eye(counts.shape[1])
    ends = [(2 * below >= n).argmax(axis=1), (2 * below > n).argmax(axis=1)]
    return np.asarray((unit[ends[0]] + unit[ends[1]]) / 2)
