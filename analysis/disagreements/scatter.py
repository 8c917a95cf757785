"""The certainty of annotators against that of a judge, as a drawing and as a table.

The drawing has at most 20 × 20 marks, whatever the number of items.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from analysis.disagreements.patterns import STEP, STEPS, PatternFact
from analysis.disagreements.selection import CertaintyCell, Selection
from studies.prompts import BANDS

# The drawing's own units: a square for the certainties, with a margin for the axes.
SIDE, LEFT, TOP = 400, 46, 10
_MOST, _LEAST = 9.5, 2.5  # radius of a mark


@dataclass(frozen=True)
class ScatterMark:
    """Items in one cell: a disc, and within it the part on which the judge is wrong."""

    x: float
    y: float
    radius: float
    wrong_radius: float
    items: int
    wrong: int
    people: str
    judge: str


@dataclass(frozen=True)
class BandCell:
    """The items with certainties in two bands, and the filter that shows them."""

    items: int
    wrong: int
    query: str
    is_chosen: bool


@dataclass(frozen=True)
class Scatter:
    marks: list[ScatterMark]
    items: int
    without: int
    ticks: list[tuple[int, float, float]]
    selected: dict[str, float] | None
    bands: list[str]
    table: list[tuple[str, list[BandCell]]]


def scatter_of(found: Iterable[CertaintyCell], chosen: Selection) -> Scatter:
    """The drawing and the table of the cells of a page's list."""
    items: Counter[tuple[int, int]] = Counter()
    wrong: Counter[tuple[int, int]] = Counter()
    without = 0
    for cell in found:
        place = (cell.people_step, cell.judge_step)
        if min(place) < 0:
            without += cell.items
            continue
        items[place] += cell.items
        if PatternFact.JUDGE_WRONG in cell.fact:
            wrong[place] += cell.items
    most = max(items.values(), default=1)
    return Scatter(
        marks=[_mark(place, n, wrong[place], most) for place, n in sorted(items.items())],
        items=items.total(),
        without=without,
        ticks=[(n, LEFT + _along(n), TOP + SIDE - _along(n)) for n in range(0, 101, 20)],
        selected=_selected(chosen) if chosen.has_range else None,
        bands=[f"{band.low}–{band.high}" for band in BANDS],
        table=_table(items, wrong, chosen),
    )


def _along(certainty: float) -> float:
    return certainty * SIDE / 100


def _mark(place: tuple[int, int], items: int, wrong: int, most: int) -> ScatterMark:
    people, judge = place
    # Areas show numbers of items; one item is always visible.
    radius = max(_LEAST, _MOST * sqrt(items / most)) if most > 3 else 5.0
    return ScatterMark(
        x=LEFT + _along((people + 0.5) * STEP),
        y=TOP + SIDE - _along((judge + 0.5) * STEP),
        radius=round(radius, 2),
        wrong_radius=round(radius * sqrt(wrong / items), 2),
        items=items,
        wrong=wrong,
        people=_range(people),
        judge=_range(judge),
    )


def _range(step: int) -> str:
    return f"{step * STEP + 1}–{(step + 1) * STEP}"


def _selected(chosen: Selection) -> dict[str, float]:
    """The chosen range as a rectangle of the drawing."""
    left, right = _along(chosen.people_from - 1), _along(chosen.people_to)
    bottom, top = _along(chosen.judge_from - 1), _along(chosen.judge_to)
    return {
        "x": LEFT + left,
        "y": TOP + SIDE - top,
        "width": right - left,
        "height": top - bottom,
    }


def _table(
    items: Counter[tuple[int, int]], wrong: Counter[tuple[int, int]], chosen: Selection
) -> list[tuple[str, list[BandCell]]]:
    """One row for each band of the judge, the highest first; a column for each of annotators."""
    each = STEPS // len(BANDS)
    total: Counter[tuple[int, int]] = Counter()
    total_wrong: Counter[tuple[int, int]] = Counter()
    for (people, judge), n in items.items():
        total[people // each, judge // each] += n
        total_wrong[people // each, judge // each] += wrong[people, judge]
    rows = []
    for at, judged in reversed(list(enumerate(BANDS))):
        cells = []
        for n, given in enumerate(BANDS):
            ranges = {
                "people_from": given.low,
                "people_to": given.high,
                "judge_from": judged.low,
                "judge_to": judged.high,
            }
            is_chosen = all(getattr(chosen, name) == value for name, value in ranges.items())
            cells.append(
                BandCell(total[n, at], total_wrong[n, at], chosen.query(**ranges), is_chosen)
            )
        rows.append((f"{judged.low}–{judged.high}", cells))
    return rows
