"""The chart of the first screen: how much more or less often each judge was right than people.

It is drawn into the page as lines and words, so it needs no script and prints as it is.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.report.competition import competitors
from analysis.report.text.numbers import points, points_range
from analysis.report.verdict.answer import judge_name, people_words

SHOWN = 3
# The drawing's own units; a phone shows about one of them per pixel.
WIDTH, SIDE, TOP, STEP = 360, 14, 22, 36
NAME_LETTERS = 30


@dataclass(frozen=True)
class ChartLine:
    """One judge: its name, and where its difference and the ends of its interval, if any, are."""

    name: str
    words: str
    y: int
    at: float
    ends: tuple[float, float] | None


@dataclass(frozen=True)
class VerdictChart:
    """All coordinates are in the drawing's own units; `margin` has the ends of the grey band."""

    title: str
    caption: str
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


def chart_of(report: Mapping[str, Any]) -> VerdictChart | None:
    """The judges that compete, best first; None if there is no difference."""
    judges = report["judges"]
    found, where = [], "on items that both decided"
    for index in competitors(judges):
        difference = report["comparison"][index]["difference_general"]
        ends = difference["ci_as_best"] or difference["ci"]
        if difference["value"] is not None:
            if "asked_of_all" in difference:
                where = "on items that each of them was asked"
            found.append((difference["value"], ends or (), judge_name(report, index)))
    if not found:
        return None
    found.sort(key=lambda one: -one[0])
    drawn = found[:SHOWN]
    margin = float(report["parameters"]["margin"])
    reach = max(margin, *(abs(end) for value, ends, _ in drawn for end in (value, *ends)))
    step = next(step for step in (0.05, 0.1, 0.2, 0.25, 0.5, 1) if reach <= 4 * step)
    reach = step * math.ceil(reach / step - 1e-9)

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
        for number, (value, ends, name) in enumerate(drawn)
    ]
    n = round(2 * reach / step)
    ticks = [-reach + step * number for number in range(n + 1)]
    return VerdictChart(
        title="Right more or less often than people",
        caption=(
            f"Accuracy minus that of {people_words(report)}, in percentage points with 95 % "
            f"intervals, {where}. Grey: equal within ±{margin * 100:g}."
        ),
        lines=lines,
        ticks=[
            (place(tick), f"{tick * 100:+.0f}".replace("-", "−").replace("+0", "0"))
            for tick in ticks
        ],
        zero=place(0.0),
        margin=(place(-margin), place(margin)),
        height=TOP + STEP * len(lines) + 28,
        left_out=len(found) - len(drawn),
    )
