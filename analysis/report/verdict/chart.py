"""The chart below the answer: one line per judge, with the margin as a grey band.

It consists of lines and words in the page, so it needs no script and prints unchanged.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.quantities import Quantity, Words, say, unbroken
from analysis.report.study import competitors
from analysis.report.tables import interval_of
from analysis.report.verdict.answer import ReplacementVerdict, judge_name, replacement_of
from analysis.report.words import people_words, points, points_range

SHOWN_JUDGES = 3
# Units of the drawing, about one per pixel on a phone.
WIDTH, SIDE, TOP, STEP = 360, 14, 22, 36
NAME_LETTERS = 30


@dataclass(frozen=True)
class ChartLine:
    """One judge: name, and positions of its difference and the ends of its interval, if any."""

    name: str
    words: str
    y: int
    at: float
    ends: tuple[float, float] | None


@dataclass(frozen=True)
class VerdictChart:
    """All coordinates are in the drawing's units; `margin` has the ends of the grey band."""

    title: str
    caption: str
    sides: tuple[str, str]  # what left and right of zero mean
    lines: list[ChartLine]
    ticks: list[tuple[float, str]]
    zero: float
    margin: tuple[float, float]
    height: int
    left_out: int

    @property
    def width(self) -> int:
        return WIDTH

    @property
    def bottom(self) -> int:
        return self.height - 22

    @property
    def band_width(self) -> float:
        return round(self.margin[1] - self.margin[0], 1)


# A name, a difference, and the ends of its interval, if any.
NamedDifference = tuple[str, float, tuple[float, ...]]


def chart_of(report: Mapping[str, Any]) -> VerdictChart | None:
    """The competing judges, best first; or, without right answers, the best of them on each scale.

    None if there is no difference.
    """
    if replaced := replacement_of(report):
        return _agreement_chart(replaced)
    judges = report["judges"]
    differences: list[NamedDifference] = []
    where = "on items that both decided"
    for index in competitors(judges):
        difference = report["comparison"][index]["difference_general"]
        ends = interval_of(difference)
        if difference["value"] is not None:
            if "asked_of_all" in difference:
                where = "on items that each of them was asked"
            differences.append((judge_name(report, index), difference["value"], tuple(ends or ())))
    if not differences:
        return None
    differences.sort(key=lambda one: -one[1])
    margin = float(report["parameters"]["margin"])
    return _drawn(
        differences[:SHOWN_JUDGES],
        margin=(-margin, margin),
        left_out=len(differences[SHOWN_JUDGES:]),
        title="Right more or less often than people",
        sides=("less often", "more often"),
        caption=unbroken(
            say(
                "Accuracy minus that of {people}, in percentage points with 95 % intervals, "
                "{where}. Grey: equal within ±{margin}.",
                people=Words(people_words(report)),
                where=Words(where),
                margin=Quantity("margin", None, margin),
            )
        ),
    )


def _agreement_chart(replaced: ReplacementVerdict) -> VerdictChart | None:
    """How much more often the judge agrees with a person than another person does."""
    differences: list[NamedDifference] = []
    for scale, words in (("raw", "agreement"), ("balanced", "balanced agreement")):
        one = replaced.found.get(scale) or {}
        if (value := one.get("advantage_of_people")) is not None:
            low, high = one.get("ci") or (None, None)
            ends = () if low is None or high is None else (-high, -low)
            differences.append((f"{replaced.name}, {words}", -value, ends))
    return agreement_chart(differences, replaced.epsilon)


def agreement_chart(differences: Sequence[NamedDifference], epsilon: float) -> VerdictChart | None:
    """How much more often judges agree with a person than others do; None without a difference."""
    if not differences:
        return None
    return _drawn(
        differences[:SHOWN_JUDGES],
        margin=(-epsilon, 0.0),
        left_out=len(differences[SHOWN_JUDGES:]),
        title="Agrees more or less often than another person",
        sides=("less often", "more often"),
        caption=unbroken(
            say(
                "The judge’s agreement with a person minus that of another person, in percentage "
                "points with 95 % intervals. Balanced: the labels count equally. Grey: less often "
                "by up to {epsilon}, which counts as good enough.",
                epsilon=Quantity("margin", None, epsilon),
            )
        ),
    )


def _drawn(
    differences: Sequence[NamedDifference],
    *,
    margin: tuple[float, float],
    left_out: int,
    title: str,
    sides: tuple[str, str],
    caption: str,
) -> VerdictChart:
    largest = max(abs(end) for _, value, ends in differences for end in (value, *ends, *margin))
    step = next((step for step in (0.05, 0.1, 0.2, 0.25, 0.5) if largest <= 4 * step), 1)
    reach = step * math.ceil(largest / step - 1e-9)

    def place(value: float) -> float:
        return round(SIDE + (WIDTH - 2 * SIDE) * (value + reach) / (2 * reach), 1)

    lines = [
        ChartLine(
            name if len(name) <= NAME_LETTERS else f"{name[: NAME_LETTERS - 1]}…",
            f"{points(value)} ({points_range(ends) if ends else 'no interval'})",
            TOP + STEP * number + 28,
            place(value),
            (place(ends[0]), place(ends[1])) if ends else None,
        )
        for number, (name, value, ends) in enumerate(differences)
    ]
    n = round(2 * reach / step)
    ticks = [-reach + step * number for number in range(n + 1)]
    return VerdictChart(
        title=title,
        caption=caption,
        sides=sides,
        lines=lines,
        ticks=[
            (place(tick), f"{tick * 100:+.0f}".replace("-", "−").replace("+0", "0"))
            for tick in ticks
        ],
        zero=place(0.0),
        margin=(place(margin[0]), place(margin[1])),
        height=TOP + STEP * len(lines) + 28,
        left_out=left_out,
    )
