"""What a page of disagreements shows, all of it in the address, and the rows that belong to it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

from django.db.models import Count, F, Q, QuerySet

from analysis.data.items.comparisons import mark_of
from analysis.disagreements.patterns import DEFAULT, LISTINGS, STEP, PatternFact
from analysis.models import ComparedItem, Comparison, ItemNote

_LOWEST, _HIGHEST = 1, 100
WITH_NOTE = "*"


@dataclass(frozen=True)
class Selection:
    """The filters of a page, named as in its address; a feature is “key=value”."""

    show: str = DEFAULT
    run: str = ""
    topic: str = ""
    source: str = ""
    feature: str = ""
    tag: str = ""
    people_from: int = _LOWEST
    people_to: int = _HIGHEST
    judge_from: int = _LOWEST
    judge_to: int = _HIGHEST

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "Selection":
        """The filters in an address; what cannot be understood filters nothing."""
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
        """Whether the items are filtered by more than the list and the certainties."""
        return bool(self.topic or self.source or self.feature or self.tag)


@dataclass(frozen=True)
class CertaintyCell:
    """How many items have certain facts, and certainties within certain steps."""

    fact: PatternFact
    people_step: int
    judge_step: int
    items: int


def cells(comparison: Comparison, chosen: Selection) -> list[CertaintyCell]:
    """The items of all lists, counted by the database by their facts and certainties.

    Without a filter only an index is read; the result has a few thousand rows at most.
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


def sizes(found: Iterable[CertaintyCell]) -> dict[str, int]:
    """The number of items in each list."""
    by_fact: Counter[PatternFact] = Counter()
    for cell in found:
        by_fact[cell.fact] += cell.items
    return {
        name: sum(items for fact, items in by_fact.items() if listing.includes(fact))
        for name, listing in LISTINGS.items()
    }


def listed(found: Iterable[CertaintyCell], chosen: Selection) -> list[CertaintyCell]:
    """The cells of the list that is shown."""
    return [cell for cell in found if LISTINGS[chosen.show].includes(cell.fact)]


def rows_of(comparison: Comparison, chosen: Selection) -> QuerySet[ComparedItem]:
    """The items of a page's list, by key."""
    return _in_list(_filtered(comparison, chosen), chosen).order_by("key")


def _in_list(rows: QuerySet[ComparedItem], chosen: Selection) -> QuerySet[ComparedItem]:
    includes = LISTINGS[chosen.show].includes
    if chosen.show != "all":
        every = range(sum(PatternFact) + 1)
        rows = rows.filter(pattern__in=[n for n in every if includes(PatternFact(n))])
    return rows.filter(_ranges(chosen))


def count_of(comparison: Comparison, found: list[CertaintyCell], chosen: Selection) -> int:
    """The number of items in a page's list, if possible from the cells that were counted."""
    people = _steps(chosen.people_from, chosen.people_to)
    judge = _steps(chosen.judge_from, chosen.judge_to)
    if people is None or judge is None:
        rows = _filter_by(_in_order(comparison), comparison, chosen)
        return _in_list(rows, chosen).count()
    return sum(
        cell.items
        for cell in listed(found, chosen)
        if (not chosen.has_people_range or cell.people_step in people)
        and (not chosen.has_judge_range or cell.judge_step in judge)
    )


def _steps(low: int, high: int) -> range | None:
    """The steps that a range covers; None if it ends within one."""
    is_whole = (low - 1) % STEP == 0 and high % STEP == 0
    return range((low - 1) // STEP, high // STEP) if is_whole else None


def _in_order(comparison: Comparison) -> QuerySet[ComparedItem]:
    """The rows as they are stored, for a query that reads all of them.

    A database that follows an index to each row takes more than twice as long. The sum keeps it
    from doing so.
    """
    return ComparedItem.objects.alias(of=F("comparison_id") + 0).filter(
        pk__range=(comparison.first_row, comparison.last_row),
        of=comparison.pk,
        edition=comparison.edition,
    )


def _ranges(chosen: Selection) -> Q:
    """Certainties in the chosen ranges; a fraction belongs to the whole number above it."""
    found = Q()
    if chosen.has_people_range:
        found &= Q(
            people_certainty__gt=chosen.people_from - 1, people_certainty__lte=chosen.people_to
        )
    if chosen.has_judge_range:
        found &= Q(judge_certainty__gt=chosen.judge_from - 1, judge_certainty__lte=chosen.judge_to)
    return found


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
    if chosen.tag:
        notes = ItemNote.objects.filter(study=comparison.study_id)
        if chosen.tag != WITH_NOTE:
            notes = notes.filter(tags__name=chosen.tag)
        rows = rows.filter(item__in=notes.values("item"))
    return rows


def page_of(
    rows: QuerySet[ComparedItem], *, after: str, before: str, size: int
) -> tuple[list[ComparedItem], bool, bool]:
    """The rows after or before a key, and whether there are others before and after them."""
    if before:
        found = list(rows.filter(key__lt=before).order_by(F("key").desc())[: size + 1])
        return found[:size][::-1], len(found) > size, True
    found = list((rows.filter(key__gt=after) if after else rows)[: size + 1])
    return found[:size], bool(after), len(found) > size


def neighbours(
    comparison: Comparison, chosen: Selection, key: str
) -> tuple[ComparedItem | None, ComparedItem | None]:
    """The items before and after the one with `key` in a page's list."""
    rows = rows_of(comparison, chosen)
    before = rows.filter(key__lt=key).order_by("-key").first()
    return before, rows.filter(key__gt=key).first()
