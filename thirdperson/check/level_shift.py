"""Whether a judge gives higher or lower labels than people on the same items.

A judge that is always one step too high agrees nearly as well as a person, because neighbours on a
scale count as nearly equal.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.report.rules import LEVEL
from analysis.report.words import figure, number_of
from analysis.stats import GeneralDifference, holm
from analysis.stats.comparison.level_shift import level_shift
from thirdperson.check.scale_table import ScaleTable


@dataclass(frozen=True)
class LevelShift:
    """A judge's labels minus the mean of people's, item by item, as a share of the scale.

    `p` is adjusted for the number of judges, `width` the difference of the ends of the scale.
    """

    gap: GeneralDifference
    p: float | None
    width: float
    is_steps: bool

    @property
    def value(self) -> float | None:
        return None if self.gap.value is None else self.gap.value * self.width

    @property
    def ends(self) -> tuple[float, float] | None:
        interval = self.gap.interval
        if interval is None:
            return None
        return interval.low * self.width, interval.high * self.width

    @property
    def is_shown(self) -> bool:
        return self.p is not None and self.p <= LEVEL

    def cell(self) -> str:
        """A cell of a table."""
        ends = f" ({_signed(self.ends[0])} to {_signed(self.ends[1])})" if self.ends else ""
        return f"{_signed(self.value)}{ends}"

    def sentence(self, judge: str) -> str:
        """How far the judge is from people; empty unless the test shows it."""
        if not self.is_shown or self.value is None or self.ends is None:
            return ""
        way = "higher" if self.value > 0 else "lower"
        low, high = sorted(abs(end) for end in self.ends)
        unit = " steps" if self.is_steps else ""
        return (
            f"{judge} labels {figure(abs(self.value), '.2f')}{unit} {way} than people on average "
            f"(95\u00a0% CI {figure(low, '.2f')} to {figure(high, '.2f')}, "
            f"{number_of(self.gap.n, 'item')}), on a scale that is "
            f"{figure(self.width, 'g')}{unit} wide. Agreement hardly shows this."
        )


def _signed(value: float | None) -> str:
    return figure(value, "+.2f")


def level_shifts(table: ScaleTable, *, these_people: bool) -> Mapping[str, LevelShift]:
    """Each judge's shift, of scales whose labels have an order; Holm's method over judges."""
    if not table.scale.is_graded:
        return {}
    values = np.asarray(table.scale.values)
    width = float(values.max() - values.min())
    votes, sharing = table.votes, table.sharing(these_people=these_people)
    tests = {
        judge: level_shift(
            np.where(choice >= 0, values[choice] / width, np.nan),
            votes.item,
            votes.annotator,
            values[votes.choice] / width,
            sharing,
        )
        for judge, choice in table.judges.items()
    }
    adjusted = holm([gap.p for gap in tests.values()])
    is_steps = table.scale.level == "ordinal"
    return {
        judge: LevelShift(gap, p, width, is_steps)
        for (judge, gap), p in zip(tests.items(), adjusted, strict=True)
    }
