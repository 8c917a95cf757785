"""Annotators, their answers as arrays, and whom and what researchers left out, with reasons.

Answers are read in whole columns: PostgreSQL sends the next ones while others are read here,
without a Python object per value.
"""

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BigIntegerField, Case, Count, Expression, Min, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Coalesce, NullIf

from analysis.data.answer_rows import COUNTED, SetPairs
from analysis.data.arrays import (
    CHOICES,
    CODE,
    MISSING,
    Answers,
    Exclusion,
    Floats,
    Index,
    LeftOutItem,
    sorted_columns,
)
from analysis.data.views import StudyThen
from analysis.models import Report
from annotation.content.consent_versions import promised
from annotation.models import (
    Annotation,
    AnnotationRevision,
    Annotator,
    AnnotatorEvent,
    QuotaGroup,
)
from annotation.models.annotators import TEST_WALK
from annotation.quality import NOTHING, quality_of
from annotation.services.faulty_items import TAKEN_OUT
from annotation.services.identities import identity_hash
from studies.models import Item, Study, StudyLog
from studies.models import Item as ItemRow

# Before the rows: a signature, flags and the length of an empty extension. After them: -1.
_HEAD_BYTES, _END_BYTES = 19, 2


def number_columns(rows: QuerySet[Any], *columns: str | Expression) -> tuple[Index, ...]:
    """Columns of `rows`, in any order; all values are whole numbers and never NULL."""
    numbers = rows.order_by().values_list(*(Cast(column, BigIntegerField()) for column in columns))
    if connection.vendor == "postgresql":
        # A row is its number of columns, then each column's length and value.
        row = np.dtype([("n", ">i2"), ("columns", [("n", ">i4"), ("value", ">i8")], len(columns))])
        table = np.frombuffer(_copied(numbers), dtype=row)["columns"]["value"]
    else:
        table = np.fromiter(numbers.iterator(), dtype=np.dtype((np.int64, len(columns))))
    return tuple(column.astype(np.int64) for column in table.T)


def number_of(field: str, texts: Sequence[str]) -> Case:
    """The position in `texts` of a field's value; -1 if it is not there."""
    cases = [When(**{field: text}, then=Value(n)) for n, text in enumerate(texts)]
    return Case(*cases, default=Value(-1))


def places_of(ids: Index, position: Mapping[int, int]) -> Index:
    """The position of each id; -1 if unknown."""
    if not position:
        return np.full(ids.size, MISSING)
    known = np.array(sorted(position))
    at = np.minimum(np.searchsorted(known, ids), known.size - 1)
    places = np.array([position[item] for item in known.tolist()])
    return np.where(known[at] == ids, places[at], MISSING)


def or_nan(numbers: Index) -> Floats:
    """The numbers, with NaN where they are missing."""
    return np.where(numbers == MISSING, np.nan, numbers)


def _copied(rows: QuerySet[Any]) -> bytes | memoryview:
    """The rows in PostgreSQL's binary COPY format."""
    try:
        statement, values = rows.query.sql_with_params()
    except EmptyResultSet:  # for example a filter for an empty list
        return b""
    sent = io.BytesIO()
    with connection.cursor() as cursor:
        query = cursor.mogrify(statement, values).decode()
        cursor.copy_expert(f"COPY ({query}) TO STDOUT (FORMAT binary)", sent)
    return sent.getbuffer()[_HEAD_BYTES:-_END_BYTES]


# A page that measured no time has none.
_MILLISECONDS = Coalesce(NullIf("active_ms", 0), "elapsed_ms", MISSING)


def answers_of(
    study: Study,
    position: Mapping[int, int],
    *,
    are_excluded: bool | None = False,
    after: int = 0,
    then: StudyThen | None = None,
) -> tuple[tuple[str, ...], tuple[Mapping[str, str], ...], Answers]:
    """Raters, their demographics, and their counted answers.

    Either for excluded annotators or for all others, or for everybody with None; raters are
    numbered from `after`. `then` reads the answers of an earlier moment.
    """
    people = Annotator.objects.filter(study=study)
    if then is not None:
        answers = then.answers(are_excluded=are_excluded)
    else:
        answers = Annotation.objects.filter(
            assignment__annotator__study=study, standing__in=COUNTED
        )
        if are_excluded is not None:
            answers = answers.filter(assignment__annotator__excluded_at__isnull=not are_excluded)
            people = people.filter(excluded_at__isnull=not are_excluded)
    earlier = then.earlier(answers) if then is not None else {}
    names = (
        "assignment__item",
        "assignment__annotator",
        number_of("choice", CHOICES),
        Coalesce("certainty", MISSING),
        number_of("assignment__shown_first", CHOICES),
        _MILLISECONDS,
        "assignment__position",
    )
    pairs = answers.filter(ranking__isnull=True)
    columns = number_columns(pairs.exclude(pk__in=earlier), *names)
    if earlier:
        rows = np.array(
            [
                (
                    answer.assignment.item_id,
                    answer.assignment.annotator_id,
                    CODE[earlier[answer.pk].choice],
                    _or_missing(earlier[answer.pk].certainty),
                    CODE[answer.assignment.shown_first],
                    _or_missing(earlier[answer.pk].active_ms or earlier[answer.pk].elapsed_ms),
                    answer.assignment.position,
                )
                for answer in pairs.filter(pk__in=earlier).select_related("assignment")
            ],
            dtype=np.int64,
        )
        columns = tuple(map(np.append, columns, rows.reshape(-1, len(columns)).T))
    if study.shows_whole_sets:
        ranked = np.array(list(_each_pair(study, answers, earlier)), dtype=np.int64)
        columns = tuple(map(np.append, columns, ranked.reshape(-1, len(columns)).T))
    place = places_of(columns[0], position)
    # Checks and practice are not items of a report.
    place, annotator, choice, certainty, first, ms, shown_at = (
        column[place != MISSING] for column in (place, *columns[1:])
    )
    annotators, rater = np.unique(annotator, return_inverse=True)
    facts = people.order_by().values_list("pk", "pseudonym", "demographics", "is_imported")
    of_annotator = {pk: row for pk, *row in facts}
    known = [of_annotator[pk] for pk in annotators.tolist()]
    # The order of answers from a file is unknown, so they follow the order of the items.
    is_imported = np.array([row[-1] for row in known], dtype=np.bool_)
    shown_at = np.where(is_imported[rater], _places_in_order(place, rater), shown_at)
    # Sorted by answers, and by name only for equal ones: the order, and with it resampling, must
    # not depend on names, which an export replaces.
    content = [place, choice, certainty, first, ms]
    order = _by_content(rater, content, [name for name, *_ in known])
    ranked = np.empty(len(order), dtype=np.int64)
    ranked[order] = after + np.arange(len(order))
    kinds = ("int64", "int64", "int8", "float64", "int8", "float64", "int64")
    sorted_by_item = sorted_columns(
        [place, ranked[rater], choice, or_nan(certainty), first, or_nan(ms) / 1000, shown_at],
        2,
        *kinds,
    )
    raters = tuple(known[n][0] for n in order)
    groups = tuple({key: str(value) for key, value in known[n][1].items()} for n in order)
    return raters, groups, Answers(*sorted_by_item)


def _places_in_order(item: Index, rater: Index) -> Index:
    """The position of each row among its rater's rows, from 1, in item order."""
    order = np.lexsort([item, rater])
    starts = np.flatnonzero(np.diff(rater[order], prepend=-1))
    own = np.arange(len(item)) - np.repeat(starts, np.diff(starts, append=len(item)))
    places = np.empty(len(item), dtype=np.int64)
    places[order] = own + 1
    return places


def _by_content(
    rater: npt.NDArray[np.int64], columns: Sequence[npt.NDArray[Any]], names: Sequence[str]
) -> list[int]:
    """Raters in the order of their rows, sorted by the columns; ties by name."""
    rows = np.column_stack([np.nan_to_num(column.astype(np.float64), nan=-1) for column in columns])
    chosen = np.lexsort([*rows.T[::-1], rater])
    starts = np.searchsorted(rater[chosen], np.arange(1, len(names)))
    own = [part.tolist() for part in np.split(rows[chosen], starts)]
    return sorted(range(len(names)), key=lambda n: (own[n], names[n]))


def _or_missing(value: int | None) -> int:
    return MISSING if value is None else value


def _each_pair(
    study: Study, answers: QuerySet[Annotation], earlier: Mapping[int, AnnotationRevision]
) -> Iterator[tuple[int, ...]]:
    """Turn each ranking of a set into one answer per pair, with its time only once.

    `earlier` are revisions that take the place of answers, by their ids.
    """
    pairs = SetPairs(study)
    rows = answers.filter(ranking__isnull=False).values_list(
        "assignment__item",
        "assignment__annotator",
        Coalesce("certainty", MISSING),
        _MILLISECONDS,
        "assignment__position",
        "ranking",
        "pk",
    )
    for item, rater, certainty, milliseconds, place, ranking, pk in rows:
        if before := earlier.get(pk):
            ranking, certainty = before.ranking or ranking, _or_missing(before.certainty)
        for answer in pairs.answers(item, ranking):
            own = milliseconds if answer.is_own else MISSING
            choice, first = CODE[answer.choice], CODE[answer.shown_first]
            yield answer.item, rater, choice, certainty, first, own, place


def attention_of(
    study: Study, raters: tuple[str, ...], then: StudyThen | None
) -> tuple[tuple[int, int], ...]:
    """Attention checks that each rater has seen and failed, now or by an earlier moment."""
    answers = Annotation.objects if then is None else then.given()
    checks = answers.filter(assignment__annotator__study=study, standing=Annotation.Standing.CHECK)
    earlier = {} if then is None else then.earlier(checks)
    rows = checks.values_list(
        "assignment__annotator__pseudonym", "pk", "choice", "assignment__item__check_answer"
    )
    seen: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for rater, pk, choice, right in rows:
        seen[rater] += 1
        failed[rater] += (earlier[pk].choice if pk in earlier else choice) != right
    return tuple((seen[rater], failed[rater]) for rater in raters)


def flagged_of(
    study: Study, raters: tuple[str, ...], then: StudyThen | None = None
) -> tuple[bool, ...]:
    """Whether each rater has signs of a program, now or by an earlier moment; empty if nobody."""
    people = Annotator.objects.filter(study=study, is_imported=False)
    if then is None:
        people = people.filter(excluded_at=None)
    else:
        people = people.exclude(pk__in=[*then.excluded])
    if not people.exists():
        return ()
    quality = quality_of(study, among=None if then is None else then.given())
    names = {
        pseudonym
        for pk, pseudonym in people.values_list("pk", "pseudonym")
        if "machine" in quality.get(pk, NOTHING).rules
    }
    flagged = tuple(rater in names for rater in raters)
    return flagged if any(flagged) else ()


def has_imported_answers_alone(study: Study) -> bool:
    """Whether all answers came from files: nobody was asked here."""
    origins = Annotator.objects.filter(study=study).order_by().values_list("is_imported", flat=True)
    return {*origins.distinct()} == {True}


def people_by_state(study: Study, then: StudyThen | None) -> Mapping[str, int]:
    """The number of participants by state, without imported annotators."""
    if then is not None:
        return dict(sorted(Counter(then.states.values()).items()))
    people = Annotator.objects.filter(study=study, is_imported=False)
    states = people.exclude(exclusion_reason=TEST_WALK).values_list("state")
    return dict(states.annotate(n=Count("pk")).order_by("state"))


def imported_of(study: Study) -> frozenset[str]:
    """The pseudonyms of people whose answers came from a file."""
    people = Annotator.objects.filter(study=study, is_imported=True).order_by()
    return frozenset(people.values_list("pseudonym", flat=True))


def promised_of(study: Study, then: StudyThen | None) -> Mapping[tuple[str, int, int], int]:
    """The participants who finished, by promise: currency, reward, minutes."""
    completed = None
    if then is not None:
        completed = {pk for pk, state in then.states.items() if state == Annotator.State.COMPLETED}
    counts = promised([study], completed)[study.pk]
    return {
        (promise.currency, promise.reward, promise.minutes): counts[promise]
        for promise in sorted(counts)
    }


def quotas_of(study: Study) -> tuple[tuple[str, int, int], ...]:
    groups = QuotaGroup.objects.filter(study=study)
    return tuple((str(group), group.target, group.completed) for group in groups)


def identities_of(study: Study) -> Mapping[str, str]:
    """The keyed hash of the platform id by pseudonym, equal in all studies; empty if unknown.

    It outlives a deleted id. An existing id is hashed again, because the stored hash may use an
    earlier key.
    """
    rows = Annotator.objects.filter(study=study).exclude(identity_hash=None)
    return {
        pseudonym: identity_hash(pid) if pid else stored or ""
        for pseudonym, stored, pid in rows.order_by().values_list(
            "pseudonym", "identity_hash", "prolific_identity__pid"
        )
    }


def not_counted(
    study: Study, *, excluded_people: int, then: StudyThen | None = None
) -> Mapping[str, int]:
    """Answers that the report leaves out, by reason, and the number of excluded people.

    An excluded person whose seats were reopened still counts, although their answers are released.
    """
    if then is not None:
        return _not_counted_then(then, excluded_people)
    excluded = Q(standing__in=COUNTED, assignment__annotator__excluded_at__isnull=False)
    of_study = Annotation.objects.filter(
        assignment__annotator__study=study, assignment__item__split=ItemRow.Split.MAIN
    )
    # Two statements that each find few answers, instead of one that reads them all.
    standings = of_study.filter(standing__in=_NOT_COUNTED).values_list("standing")
    counts = dict(standings.annotate(n=Count("pk")).order_by("standing"))
    return {str(name): counts.get(name, 0) for name in _NOT_COUNTED} | {
        "excluded": of_study.filter(excluded).count() if excluded_people else 0,
        "excluded_people": excluded_people,
    }


_NOT_COUNTED = (
    Annotation.Standing.SURPLUS,
    Annotation.Standing.RELEASED,
    Annotation.Standing.WITHDRAWN,
)


def _not_counted_then(then: StudyThen, excluded_people: int) -> Mapping[str, int]:
    """As `not_counted`; answers that were withdrawn since are nowhere."""
    items = then.items().values("pk")
    answers = then.given().filter(assignment__item__in=items).order_by()
    withdrew = Annotation.objects.filter(
        assignment__annotator__study=then.study,
        assignment__item__in=items,
        created_at__lte=then.at,
        standing=Annotation.Standing.WITHDRAWN,
    ).exclude(standings__created_at__gt=then.at)
    counts = dict(answers.values_list("standing_then").annotate(n=Count("pk")))
    excluded = then.answers(are_excluded=True).filter(assignment__item__in=items)
    counts[Annotation.Standing.WITHDRAWN] = withdrew.count()
    return {str(name): counts.get(name, 0) for name in _NOT_COUNTED} | {
        "excluded": excluded.count() if excluded_people else 0,
        "excluded_people": excluded_people,
    }


# The study's log also records reports that the command wrote to a folder.
REPORT_WRITTEN = "report written"


def exclusions_of(study: Study, then: StudyThen | None = None) -> tuple[Exclusion, ...]:
    """All people excluded by researchers, whatever happened to their answers, by pseudonym.

    `then` keeps those who were already excluded at an earlier moment.
    """
    if then is not None:
        return tuple(_exclusions_then(study, then))
    people = list(Annotator.objects.filter(study=study).exclude(excluded_at=None))
    if not people:
        return ()
    first = first_report_of(study)
    events = AnnotatorEvent.objects.filter(annotator__in=people, event="excluded")
    users = dict(events.order_by("pk").values_list("annotator", "user__username"))
    counts = _by_person(
        Annotation.objects.filter(
            assignment__annotator__in=people, assignment__item__split=Item.Split.MAIN
        ).exclude(standing=Annotation.Standing.WITHDRAWN)
    )
    return tuple(
        Exclusion(
            rater=person.pseudonym,
            reason=person.exclusion_reason,
            on=f"{person.excluded_at:%Y-%m-%d}",
            by=users.get(person.pk) or "",
            answers=counts.get(person.pk, 0),
            after_report=first is not None and first < person.excluded_at,
        )
        for person in sorted(people, key=lambda person: person.pseudonym)
        if person.excluded_at is not None
    )


def _exclusions_then(study: Study, then: StudyThen) -> Iterator[Exclusion]:
    first = first_report_of(study)
    items = then.items().values("pk")
    counts = _by_person(
        then.given().filter(assignment__annotator__in=[*then.excluded], assignment__item__in=items)
    )
    names = Annotator.objects.filter(pk__in=[*then.excluded]).values_list("pseudonym", "pk")
    for name, pk in sorted(names):
        event = then.excluded[pk]
        yield Exclusion(
            rater=name,
            reason=event.detail["reason"],
            on=f"{event.created_at:%Y-%m-%d}",
            by=event.user.get_username() if event.user else "",
            answers=counts.get(pk, 0),
            after_report=first is not None and first < event.created_at,
        )


def _by_person(answers: QuerySet[Annotation]) -> dict[int, int]:
    people = answers.order_by().values_list("assignment__annotator")
    return dict(people.annotate(n=Count("pk")))


def left_out_of(study: Study, then: StudyThen | None) -> tuple[LeftOutItem, ...]:
    """The items that were taken out of the analysis, by key; `then`, those out at a moment."""
    if then is None:
        items = Item.everything.filter(study=study, split=Item.Split.LEFT_OUT)
        answered = Q(assignments__annotation__isnull=False) & ~Q(
            assignments__annotation__standing=Annotation.Standing.WITHDRAWN
        )
    else:
        items = Item.everything.filter(study=study, key__in=then.taken_out)
        answered = Q(assignments__annotation__in=then.given().values("pk"))
    counted = items.annotate(n=Count("assignments", filter=answered)).order_by()
    rows = sorted(counted.values_list("key", "left_out_reason", "n"))
    if not rows:
        return ()
    first = first_report_of(study)
    log = study.log.filter(event=TAKEN_OUT).order_by("pk").select_related("user")
    now = {entry.detail["item"]: entry for entry in log}
    entries: Mapping[str, StudyLog | None] = now if then is None else then.taken_out
    out = []
    for key, reason, answers in rows:
        # Imported as taken out: when and by whom is not known here.
        entry = entries.get(key)
        if entry is None:
            out.append(LeftOutItem(key, reason, "", "", answers, False))
            continue
        late = first is not None and first < entry.created_at
        by = entry.user.get_username() if entry.user else ""
        on = f"{entry.created_at:%Y-%m-%d}"
        out.append(LeftOutItem(key, entry.detail["reason"], on, by, answers, late))
    return tuple(out)


def first_report_of(study: Study) -> datetime | None:
    """When the first report of the study was requested, on a page or by command."""
    built = Report.objects.filter(study=study, state=Report.State.DONE)
    written = study.log.filter(event=REPORT_WRITTEN)
    firsts = [reports.aggregate(at=Min("created_at"))["at"] for reports in (built, written)]
    return min(filter(None, firsts), default=None)
