"""Contents of the disagreements page: answer patterns, filters, rows and a plot."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import IntFlag, auto
from math import sqrt
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, F, Q, QuerySet

from analysis.data.item_comparisons import ItemVerdicts, mark_of
from analysis.disagreements.notes import notes_of
from analysis.models import ComparedItem, Comparison
from studies.extra import Kind
from studies.models.studies import Study
from studies.prompts import BANDS

STEP = 5  # Certainties are counted in steps of five: 1 to 5, 6 to 10, …
STEPS = 100 // STEP
NO_CERTAINTY = -1


class PatternFact(IntFlag):
    """Facts about the answers to an item; stored as one number."""

    PEOPLE_RIGHT = auto()
    PEOPLE_WRONG = auto()
    JUDGE_RIGHT = auto()
    JUDGE_WRONG = auto()
    DIFFER = auto()
    SPLIT = auto()
    JUDGE_CERTAIN = auto()
    NO_VERDICT = auto()


@dataclass(frozen=True)
class Listing:
    """A list of items: its name on the page, and its rule."""

    label: str
    includes: Callable[[PatternFact], bool]


LISTINGS: dict[str, Listing] = {
    "all": Listing("All items", lambda fact: True),
    "disagree": Listing("Annotators and judge disagree", lambda fact: PatternFact.DIFFER in fact),
    "judge-wrong": Listing(
        "Annotators right, judge wrong",
        lambda fact: PatternFact.PEOPLE_RIGHT | PatternFact.JUDGE_WRONG in fact,
    ),
    "annotators-wrong": Listing(
        "Judge right, annotators wrong",
        lambda fact: PatternFact.PEOPLE_WRONG | PatternFact.JUDGE_RIGHT in fact,
    ),
    "both-wrong": Listing(
        "Both wrong", lambda fact: PatternFact.PEOPLE_WRONG | PatternFact.JUDGE_WRONG in fact
    ),
    "certain-wrong": Listing(
        "Judge certain and wrong",
        lambda fact: PatternFact.JUDGE_CERTAIN | PatternFact.JUDGE_WRONG in fact,
    ),
    "split": Listing("Annotators split", lambda fact: PatternFact.SPLIT in fact),
    "no-verdict": Listing("No verdict by the judge", lambda fact: PatternFact.NO_VERDICT in fact),
}
DEFAULT = "disagree"


@dataclass(frozen=True)
class ItemSet:
    """Sets of items that an extra adds as a filter; an address names one as “name:value”.

    `label` completes “Only items for which …”, and `items` are ids; empty and None if the study
    has no such set.
    """

    name: str
    label: Callable[[Study, str], str]
    items: Callable[[Study, str], QuerySet[Any] | None]


MORE: Kind[ItemSet] = Kind("readers", "item_sets")


def facts_of(item: ItemVerdicts, *, threshold: int) -> PatternFact:
    """Facts about an item; a judge is certain from `threshold` on."""
    people, judge = item.people or {}, item.judge or {}
    fact = PatternFact(0)
    if (right := people.get("correct")) is not None:
        fact |= PatternFact.PEOPLE_RIGHT if right else PatternFact.PEOPLE_WRONG
    if (right := judge.get("correct")) is not None:
        fact |= PatternFact.JUDGE_RIGHT if right else PatternFact.JUDGE_WRONG
    majority, verdict = people.get("verdict"), judge.get("verdict")
    if majority and verdict and majority != verdict:
        fact |= PatternFact.DIFFER
    if people and (not majority or people["share"] < 1):
        fact |= PatternFact.SPLIT
    if (judge.get("certainty") or 0) >= threshold:
        fact |= PatternFact.JUDGE_CERTAIN
    if judge and not verdict:
        fact |= PatternFact.NO_VERDICT
    return fact


def step_of(certainty: float | None) -> int:
    """The step of a certainty, from 0; a fraction belongs to the whole number above it.

    >>> step_of(1), step_of(5), step_of(5.5), step_of(100), step_of(None)
    (0, 0, 1, 19, -1)
    """
    return NO_CERTAINTY if certainty is None else (math.ceil(certainty) - 1) // STEP


_LOWEST, _HIGHEST = 1, 100


@dataclass(frozen=True)
class Selection:
    """The filters of a page, named as in its address; a feature is “key=value”."""

    show: str = DEFAULT
    run: str = ""
    topic: str = ""
    source: str = ""
    feature: str = ""
    tag: str = ""
    among: str = ""
    people_from: int = _LOWEST
    people_to: int = _HIGHEST
    judge_from: int = _LOWEST
    judge_to: int = _HIGHEST

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "Selection":
        """The filters in an address, without those that cannot be parsed."""
        chosen: dict[str, str | int] = {}
        for field in fields(cls):
            value = query.get(field.name, "").strip().replace("\0", "")
            if not value:
                continue
            if field.type is int or field.type == "int":
                if value.isdecimal() and _LOWEST <= int(value[:4]) <= _HIGHEST:
                    chosen[field.name] = int(value)
            elif field.name != "show" or value in LISTINGS:
                chosen[field.name] = value
        return cls(**chosen)  # type: ignore[arg-type]

    def query(self, **changes: str | int) -> str:
        """The filters for an address, with changes; defaults are left out."""
        changed = replace(self, **changes)  # type: ignore[arg-type]
        default = Selection()
        return urlencode(
            {
                field.name: value
                for field in fields(self)
                if (value := getattr(changed, field.name)) != getattr(default, field.name)
            }
        )

    @property
    def has_range(self) -> bool:
        return self.has_people_range or self.has_judge_range

    @property
    def has_people_range(self) -> bool:
        return (self.people_from, self.people_to) != (_LOWEST, _HIGHEST)

    @property
    def has_judge_range(self) -> bool:
        return (self.judge_from, self.judge_to) != (_LOWEST, _HIGHEST)

    @property
    def has_filter(self) -> bool:
        """Whether there are filters other than the list and the certainties."""
        return bool(self.topic or self.source or self.feature or self.tag or self.among)


@dataclass(frozen=True)
class CertaintyCell:
    """Number of items with given facts and certainty steps."""

    fact: PatternFact
    people_step: int
    judge_step: int
    items: int


def cells(comparison: Comparison, chosen: Selection) -> list[CertaintyCell]:
    """The items of all lists, counted by the database by their facts and certainties.

    Without a filter this reads only an index; the result has at most a few thousand rows.
    """
    rows = _filtered(comparison, chosen)
    if chosen.has_filter:
        rows = _filter_by(_in_order(comparison), comparison, chosen)
    counted = (
        rows.order_by().values_list("pattern", "people_band", "judge_band").annotate(n=Count("pk"))
    )
    return [
        CertaintyCell(PatternFact(pattern), people, judge, n)
        for pattern, people, judge, n in counted
    ]


def sizes(certainty_cells: Iterable[CertaintyCell]) -> dict[str, int]:
    """The number of items in each list."""
    by_fact: Counter[PatternFact] = Counter()
    for cell in certainty_cells:
        by_fact[cell.fact] += cell.items
    return {
        name: sum(items for fact, items in by_fact.items() if listing.includes(fact))
        for name, listing in LISTINGS.items()
    }


def listed(certainty_cells: Iterable[CertaintyCell], chosen: Selection) -> list[CertaintyCell]:
    """The cells of the current list."""
    return [cell for cell in certainty_cells if LISTINGS[chosen.show].includes(cell.fact)]


def rows_of(comparison: Comparison, chosen: Selection) -> QuerySet[ComparedItem]:
    """The items of a page's list, by key."""
    return _in_list(_filtered(comparison, chosen), chosen).order_by("key")


def _in_list(rows: QuerySet[ComparedItem], chosen: Selection) -> QuerySet[ComparedItem]:
    includes = LISTINGS[chosen.show].includes
    if chosen.show != "all":
        every = range(sum(PatternFact) + 1)
        rows = rows.filter(pattern__in=[n for n in every if includes(PatternFact(n))])
    return rows.filter(_ranges(chosen))


def count_of(
    comparison: Comparison, certainty_cells: list[CertaintyCell], chosen: Selection
) -> int:
    """The number of items in a page's list, from counted cells if possible."""
    people = _steps(chosen.people_from, chosen.people_to)
    judge = _steps(chosen.judge_from, chosen.judge_to)
    if people is None or judge is None:
        rows = _filter_by(_in_order(comparison), comparison, chosen)
        return _in_list(rows, chosen).count()
    return sum(
        cell.items
        for cell in listed(certainty_cells, chosen)
        if (not chosen.has_people_range or cell.people_step in people)
        and (not chosen.has_judge_range or cell.judge_step in judge)
    )


def _steps(low: int, high: int) -> range | None:
    """The steps that a range covers; None if it ends inside a step."""
    is_whole = (low - 1) % STEP == 0 and high % STEP == 0
    return range((low - 1) // STEP, high // STEP) if is_whole else None


def _in_order(comparison: Comparison) -> QuerySet[ComparedItem]:
    """The rows in storage order, for a query that reads all of them.

    Following an index to each row takes more than twice as long; the sum prevents that.
    """
    return ComparedItem.objects.alias(of=F("comparison_id") + 0).filter(
        pk__range=(comparison.first_row, comparison.last_row),
        of=comparison.pk,
        edition=comparison.edition,
    )


def _ranges(chosen: Selection) -> Q:
    """Certainties in the chosen ranges; a fraction belongs to the whole number above it."""
    condition = Q()
    if chosen.has_people_range:
        condition &= Q(
            people_certainty__gt=chosen.people_from - 1, people_certainty__lte=chosen.people_to
        )
    if chosen.has_judge_range:
        condition &= Q(
            judge_certainty__gt=chosen.judge_from - 1, judge_certainty__lte=chosen.judge_to
        )
    return condition


def _filtered(comparison: Comparison, chosen: Selection) -> QuerySet[ComparedItem]:
    rows = ComparedItem.objects.filter(comparison=comparison, edition=comparison.edition)
    return _filter_by(rows, comparison, chosen)


def _filter_by(
    rows: QuerySet[ComparedItem], comparison: Comparison, chosen: Selection
) -> QuerySet[ComparedItem]:
    if chosen.topic:
        rows = rows.filter(topic=chosen.topic)
    if chosen.source:
        rows = rows.filter(Q(source_1=chosen.source) | Q(source_2=chosen.source))
    if chosen.feature:
        key, _, value = chosen.feature.partition("=")
        rows = rows.filter(features__contains=mark_of(key, value))
    if chosen.tag and (notes := notes_of(comparison.study)):
        rows = rows.filter(item__in=notes.items(comparison.study, chosen.tag))
    if chosen.among:
        item_set, value = _item_set(chosen)
        items = item_set.items(comparison.study, value) if item_set else None
        rows = rows.none() if items is None else rows.filter(item__in=items)
    return rows


def among_words(study: Study, chosen: Selection) -> str:
    """What the items of a chosen set have in common; empty if there is no such set."""
    item_set, value = _item_set(chosen)
    return item_set.label(study, value) if item_set else ""


def _item_set(chosen: Selection) -> tuple[ItemSet | None, str]:
    name, _, value = chosen.among.partition(":")
    return next((item_set for item_set in MORE if item_set.name == name), None), value


def page_of(
    rows: QuerySet[ComparedItem], *, after: str, before: str, size: int
) -> tuple[list[ComparedItem], bool, bool]:
    """The rows after or before a key, and whether more precede and follow."""
    if before:
        following = list(rows.filter(key__lt=before).order_by(F("key").desc())[: size + 1])
        return following[:size][::-1], len(following) > size, True
    following = list((rows.filter(key__gt=after) if after else rows)[: size + 1])
    return following[:size], bool(after), len(following) > size


def neighbours(
    comparison: Comparison, chosen: Selection, key: str
) -> tuple[ComparedItem | None, ComparedItem | None]:
    """The items before and after the one with `key` in a page's list."""
    rows = rows_of(comparison, chosen)
    before = rows.filter(key__lt=key).order_by("-key").first()
    return before, rows.filter(key__gt=key).first()


# Units of the plot: a square for the certainties, with a margin for the axes.
SIDE, LEFT, TOP = 400, 46, 10
_MOST, _LEAST = 9.5, 2.5  # radius of a mark


@dataclass(frozen=True)
class ScatterMark:
    """A cell's items as a disc, with an inner disc for those that the judge has wrong."""

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
    """The items with certainties in two bands, and the filter for them."""

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


def scatter_of(certainty_cells: Iterable[CertaintyCell], chosen: Selection) -> Scatter:
    """Plot and table of the cells of a page's list."""
    items: Counter[tuple[int, int]] = Counter()
    wrong: Counter[tuple[int, int]] = Counter()
    without = 0
    for cell in certainty_cells:
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
    """One row per band of the judge, highest first; one column per band of annotators."""
    width = STEPS // len(BANDS)
    total: Counter[tuple[int, int]] = Counter()
    total_wrong: Counter[tuple[int, int]] = Counter()
    for (people, judge), n in items.items():
        total[people // width, judge // width] += n
        total_wrong[people // width, judge // width] += wrong[people, judge]
    rows = []
    for at, judged in reversed(list(enumerate(BANDS))):
        cells = []
        for n, band in enumerate(BANDS):
            ranges = {
                "people_from": band.low,
                "people_to": band.high,
                "judge_from": judged.low,
                "judge_to": judged.high,
            }
            is_chosen = all(getattr(chosen, name) == value for name, value in ranges.items())
            cells.append(
                BandCell(total[n, at], total_wrong[n, at], chosen.query(**ranges), is_chosen)
            )
        rows.append((f"{judged.low}–{judged.high}", cells))
    return rows
