"""Researchers' data on a study's annotators: coverage, quota groups, progress and pace."""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median, stdev

from django.db.models import Count, Q, QuerySet

from annotation.models import Annotation, Annotator, DemographicQuestion, QuotaGroup
from annotation.models.annotators import TEST_WALK
from annotation.seats import flow
from studies.models import Item, Study
from studies.pages.listing import recent_seat_groups
from studies.statements import clock
from studies.statements.kept_figures import kept

HOUR = dt.timedelta(hours=1)
_LATE = dt.timedelta(days=1)
_LAST_STARTED = 20
_NOT_COUNTED = (Annotation.Standing.SURPLUS, Annotation.Standing.IMPORTED)


def seconds_of_an_item(study: Study) -> float | None:
    """The median active time per answer of those who started last; None without answers."""
    latest = Annotator.objects.filter(study=study, started_at__isnull=False).order_by("-pk")
    answers = Annotation.objects.filter(
        assignment__annotator__in=list(latest.values_list("pk", flat=True)[:_LAST_STARTED])
    ).order_by()
    times = [ms for ms in answers.values_list("active_ms", flat=True) if ms is not None]
    return median(times) / 1000 if times else None


@dataclass(frozen=True)
class CoverageRow:
    """The number of items that have a given number of answers."""

    answers: int
    items: int


@dataclass(frozen=True)
class Coverage:
    rows: tuple[CoverageRow, ...]
    items: int
    answers: int
    needed: int
    surplus: int
    imported: int
    last_hour: int

    @property
    def end(self) -> dt.datetime | None:
        """When every seat will be answered at the rate of the last hour."""
        left = self.needed - self.answers
        if not self.last_hour or left <= 0:
            return None
        return clock.now() + HOUR * (left / self.last_hour)

    @property
    def is_complete(self) -> bool:
        return self.answers >= self.needed > 0


def coverage(study: Study) -> Coverage:
    """The number of annotators' items by how many of their answers count."""
    return kept(
        "coverage",
        study.pk,
        study.version,
        count=lambda: _count_coverage(study),
        rows=lambda counts: counts.items + counts.answers,
    )


def _count_coverage(study: Study) -> Coverage:
    counts: Counter[int] = Counter()
    needed = 0
    for group in recent_seat_groups(study):
        if group.needed:
            counts[group.answered] += group.items
            needed += group.needed * group.items
    # Nearly all answers count, and the items store how many, so only the others are counted here.
    others = dict(
        Annotation.objects.filter(assignment__annotator__study=study, standing__in=_NOT_COUNTED)
        .order_by()
        .values_list("standing")
        .annotate(answers=Count("pk"))
    )
    top = max([study.annotations_per_item, *counts])
    return Coverage(
        rows=tuple(CoverageRow(n, counts.get(n, 0)) for n in range(top + 1)),
        items=sum(counts.values()),
        answers=sum(n * items for n, items in counts.items()),
        needed=needed,
        surplus=others.get(Annotation.Standing.SURPLUS, 0),
        imported=others.get(Annotation.Standing.IMPORTED, 0),
        last_hour=_answers_since(study, clock.now() - HOUR),
    )


def _answers_since(study: Study, since: dt.datetime) -> int:
    """How many counting answers came since then, from annotators who can have given them.

    An answer kept on an offline device can arrive after its annotator's end.
    """
    working = Annotator.objects.filter(study=study, is_imported=False, started_at__isnull=False)
    recent = working.filter(Q(ended_at=None) | Q(ended_at__gte=since - _LATE))
    return Annotation.objects.filter(
        assignment__annotator__in=recent,
        standing=Annotation.Standing.COUNTED,
        answered_at__gte=since,
    ).count()


@dataclass(frozen=True)
class FunnelRow:
    label: str
    people: int


@dataclass(frozen=True)
class Funnel:
    """How many annotators reached each step, and how the others ended."""

    steps: tuple[FunnelRow, ...]
    endings: tuple[FunnelRow, ...]
    arrived: int
    now: int


def funnel(study: Study) -> Funnel:
    """The progress of every annotator who entered, without imported raters."""
    return kept(
        "funnel", study.pk, count=lambda: _count_funnel(study), rows=lambda funnel: funnel.arrived
    )


def _count_funnel(study: Study) -> Funnel:
    people = Annotator.objects.filter(study=study, is_imported=False).exclude(
        exclusion_reason=TEST_WALK
    )
    completed = Count("pk", filter=Q(state=Annotator.State.COMPLETED))
    reached = people.aggregate(
        arrived=Count("pk"),
        consented=Count("consented_at"),
        instructed=Count("instructed_at"),
        started=Count("started_at"),
        completed=completed,
    )
    states = dict(people.values_list("state").annotate(people=Count("pk")))
    labels = {
        "arrived": "Opened the link",
        "consented": "Consented",
        "instructed": "Read the instructions",
        "started": "Started the items",
        "completed": "Completed",
    }
    endings = [
        FunnelRow(str(Annotator.State(state).label).capitalize(), states[state])
        for state in Annotator.State
        if state in states and state not in flow.ACTIVE and state != Annotator.State.COMPLETED
    ]
    return Funnel(
        steps=tuple(FunnelRow(label, reached[name]) for name, label in labels.items()),
        endings=tuple(endings),
        arrived=reached["arrived"],
        now=sum(n for state, n in states.items() if state in flow.ACTIVE),
    )


@dataclass(frozen=True)
class GroupPlaces:
    """Places of one quota group, or of several."""

    completed: int = 0
    reserved: int = 0
    target: int = 0

    def __add__(self, other: "GroupPlaces") -> "GroupPlaces":
        return GroupPlaces(
            self.completed + other.completed,
            self.reserved + other.reserved,
            self.target + other.target,
        )

    @property
    def is_full(self) -> bool:
        return self.completed >= self.target


@dataclass(frozen=True)
class GridRow:
    label: str
    places: tuple[GroupPlaces | None, ...]
    total: GroupPlaces


@dataclass(frozen=True)
class QuotaGrid:
    """Quota groups by two questions, or one row per group if they do not form a grid."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[GridRow, ...]
    totals: GridRow
    everyone_else: GroupPlaces | None
    total: GroupPlaces


def quota_grid(study: Study) -> QuotaGrid | None:
    """The study's quota groups with their totals; None if the study has no quotas."""
    every = list(study.quota_groups.all())
    if not every:
        return None
    questions = list(study.demographic_questions.all())
    others = [_places(group) for group in every if group.is_everyone_else]
    groups = [group for group in every if not group.is_everyone_else]
    asked = {key for group in groups for key in group.criteria}
    axes = [question for question in questions if question.key in asked]
    if len(axes) == 2 and all(len(group.criteria) == 2 for group in groups):
        grid = _by_two(axes[0], axes[1], groups)
    else:
        grid = ("Group", (), [GridRow(_name(g, questions), (), _places(g)) for g in groups])
    title, columns, rows = grid
    by_column = tuple(
        _sum(row.places[i] for row in rows if row.places[i] is not None)
        for i in range(len(columns))
    )
    totals = GridRow("Total", by_column, _sum(row.total for row in rows))
    return QuotaGrid(
        title=title,
        columns=columns,
        rows=tuple(rows),
        totals=totals,
        everyone_else=others[0] if others else None,
        total=totals.total + _sum(others),
    )


def _by_two(
    down: DemographicQuestion, across: DemographicQuestion, groups: list[QuotaGroup]
) -> tuple[str, tuple[str, ...], list[GridRow]]:
    group_at = {(group.criteria[down.key], group.criteria[across.key]): group for group in groups}
    rows = []
    for value, label in down.choices():
        line = [group_at.get((value, other)) for other, _ in across.choices()]
        if any(line):
            places = tuple(_places(group) if group else None for group in line)
            rows.append(GridRow(label, places, _sum(p for p in places if p)))
    used = [any(row.places[i] for row in rows) for i, _ in enumerate(across.choices())]
    columns = tuple(label for (_, label), keep in zip(across.choices(), used, strict=True) if keep)
    kept = [
        GridRow(
            row.label,
            tuple(p for p, keep in zip(row.places, used, strict=True) if keep),
            row.total,
        )
        for row in rows
    ]
    return f"{down.label} / {across.label}", columns, kept


def _places(group: QuotaGroup) -> GroupPlaces:
    return GroupPlaces(group.completed, group.reserved, group.target)


def _sum(places: Iterable[GroupPlaces | None]) -> GroupPlaces:
    return sum((p for p in places if p is not None), start=GroupPlaces())


def _name(group: QuotaGroup, questions: list[DemographicQuestion]) -> str:
    """The name of the group, from the labels of its questions."""
    words = {question.key: dict(question.choices()) for question in questions}
    return ", ".join(words.get(key, {}).get(value, value) for key, value in group.criteria.items())


@dataclass(frozen=True)
class PersonRow:
    """A row of the list of annotators. A value that cannot be computed yet is None."""

    pk: int
    pseudonym: str
    state: str
    group: str
    is_imported: bool
    works_surplus: bool
    is_excluded: bool
    exclusion_reason: str
    answers: int
    items: int
    median_seconds: float | None
    share_a: float | None
    mean_certainty: float | None
    sd_certainty: float | None


@dataclass
class _AnswersOf:
    seconds: list[float] = field(default_factory=list)
    is_a: list[bool] = field(default_factory=list)
    certainties: list[int] = field(default_factory=list)
    count: int = 0


def people_of(study: Study, *, state: str = "") -> QuerySet[Annotator]:
    """The annotators of a study, latest first; `state` selects one state."""
    people = Annotator.objects.filter(study=study).select_related("quota_group").order_by("-pk")
    return people.filter(state=state) if state else people


def describe(study: Study, annotators: Iterable[Annotator]) -> list[PersonRow]:
    """The rows of the list for these annotators, in three queries."""
    people = list(annotators)
    answers = _answers_of(people)
    items = dict(
        Annotator.objects.filter(pk__in=[a.pk for a in people])
        .values_list("pk")
        .annotate(items=Count("assignments", filter=Q(assignments__item__split=Item.Split.MAIN)))
    )
    questions = list(study.demographic_questions.all())
    return [_person(a, answers[a.pk], items.get(a.pk, 0), questions) for a in people]


def _answers_of(people: list[Annotator]) -> Mapping[int, _AnswersOf]:
    by_annotator: defaultdict[int, _AnswersOf] = defaultdict(_AnswersOf)
    listed = Annotator.objects.filter(pk__in=[annotator.pk for annotator in people])
    rows = Annotation.objects.filter(
        assignment__annotator__in=listed, assignment__item__split=Item.Split.MAIN
    ).values_list(
        "assignment__annotator",
        "assignment__shown_first",
        "choice",
        "certainty",
        "active_ms",
        "elapsed_ms",
    )
    for annotator_id, shown_first, choice, certainty, active_ms, elapsed_ms in rows:
        answers = by_annotator[annotator_id]
        answers.count += 1
        milliseconds = elapsed_ms if active_ms is None else active_ms
        if milliseconds is not None:
            answers.seconds.append(milliseconds / 1000)
        if shown_first and choice != "tie":
            answers.is_a.append(choice == shown_first)
        if certainty is not None:
            answers.certainties.append(certainty)
    return by_annotator


def _person(
    annotator: Annotator, answers: _AnswersOf, items: int, questions: list[DemographicQuestion]
) -> PersonRow:
    quota_group = annotator.quota_group
    group = ""
    if quota_group is not None:
        group = "Everyone else" if quota_group.is_everyone_else else _name(quota_group, questions)
    return PersonRow(
        pk=annotator.pk,
        pseudonym=annotator.pseudonym,
        state=annotator.get_state_display().capitalize(),
        group=group,
        is_imported=annotator.is_imported,
        works_surplus=annotator.works_surplus,
        is_excluded=annotator.excluded_at is not None,
        exclusion_reason=annotator.exclusion_reason,
        answers=answers.count,
        items=items,
        median_seconds=median(answers.seconds) if answers.seconds else None,
        share_a=fmean(answers.is_a) if answers.is_a else None,
        mean_certainty=fmean(answers.certainties) if answers.certainties else None,
        sd_certainty=stdev(answers.certainties) if len(answers.certainties) > 1 else None,
    )
