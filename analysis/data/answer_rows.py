"""Annotators and their answers as rows, and the answers of whole sets.

If a set is shown on one screen, only one of its items has seats and a stored answer. Everything
that counts answers reads them here, where each pair gets the choice that the ranking implies.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce

from annotation.files.answers_out import annotation_rows
from annotation.files.answers_out import annotator_rows as rows_of_annotators
from annotation.models import Annotation, Annotator, AnnotatorEvent, DemographicQuestion
from annotation.services.faulty_items import PUT_BACK, TAKEN_OUT
from studies.models import Item, Persona, RemovedPerson, Study, StudyLog

# Items whose answers are exported; those of items that were taken out are marked as excluded.
_EXPORTED = (Item.Split.MAIN, Item.Split.LEFT_OUT)
# Answers that fill a seat of their item, or were imported from a file.
COUNTED = (Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED)


def answer_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every answer to items that count or were taken out, by key, but no withdrawn answers."""
    for row in annotation_rows(study):
        if row["split"] in _EXPORTED and row["standing"] != Annotation.Standing.WITHDRAWN:
            yield row


def answer_page(study: Study, *, after: tuple[str, str] | None, most: int) -> list[dict[str, Any]]:
    """Up to `most` rows of `answer_rows`, after an item key and a rater."""
    item, rater = "assignment__item__key", "assignment__annotator__pseudonym"
    chosen = Q(assignment__item__study=study, assignment__item__split__in=_EXPORTED)
    chosen &= ~Q(standing=Annotation.Standing.WITHDRAWN)
    if after is not None:
        key, person = after
        # The first condition lets the database start at the item.
        chosen &= Q(**{f"{item}__gte": key})
        chosen &= Q(**{f"{item}__gt": key}) | Q(**{f"{rater}__gt": person})
    return list(annotation_rows(study, only=chosen, most=most))


def is_counted(row: Mapping[str, Any]) -> bool:
    """Whether the report counts a row's answer."""
    return row["standing"] in COUNTED and not row["excluded"]


def annotator_rows(
    study: Study, *, identified: bool, order: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The annotators with the ids in `order`, with platform ids if `identified`."""
    return rows_of_annotators(study, identified=identified, order=order)


def demographics(
    study: Study, *, with_withdrawn: bool
) -> tuple[list[tuple[int, str, Mapping[str, str]]], list[str]]:
    """Ids, pseudonyms and demographics of the annotators, and the keys of the questions in order.

    Annotators who did not consent or withdrew are included only `with_withdrawn`.
    """
    people = Annotator.objects.filter(study=study)
    if not with_withdrawn:
        people = people.exclude(state__in=(Annotator.State.DECLINED, Annotator.State.WITHDREW))
    keys = DemographicQuestion.objects.filter(study=study).values_list("key", flat=True)
    return list(people.values_list("pk", "pseudonym", "demographics")), list(keys)


def demographic_answers(study: Study) -> list[tuple[str, str]]:
    """The answers that annotators can give about themselves, by the question's key."""
    return [
        (question.key, value)
        for question in DemographicQuestion.objects.filter(study=study)
        for value, _ in question.choices()
    ]


def feature_keys(study: Study, personas: Collection[int] | None = None) -> dict[int, list[str]]:
    """The keys of each persona's features, by persona id; equal lists are shared.

    `personas` are the ids to read, by default all.
    """
    lists: dict[tuple[str, ...], list[str]] = {}
    keys_of = {}
    stored = Persona.objects.filter(study=study)
    if personas is not None:
        stored = stored.filter(pk__in=personas)
    rows = stored.order_by().values_list("pk", "features")
    for pk, features in rows.iterator():
        keys = tuple(feature["key"] for feature in features)
        keys_of[pk] = lists.setdefault(keys, list(keys))
    return keys_of


def names_in(study: Study) -> list[str]:
    """The names inside of all annotators of a study."""
    return list(Annotator.objects.filter(study=study).values_list("pseudonym", flat=True))


def topics_in(study: Study) -> dict[str, str]:
    """The topic of each item of a study, by key; also of those that were taken out."""
    items = Item.everything.filter(study=study, split__in=_EXPORTED)
    return dict(items.order_by().values_list("key", "topic"))


def withdrawn_answers() -> Combinable:
    """The current number of withdrawn answers in a row's study, for `annotate`.

    Includes own answers of people who withdrew their consent to show them.
    """
    of_study = Annotation.objects.filter(
        assignment__annotator__study=OuterRef("study"),
        assignment__item__split=Item.Split.MAIN,
        standing=Annotation.Standing.WITHDRAWN,
    )
    counted = of_study.order_by().values("assignment__annotator__study").annotate(n=Count("pk"))
    removed = RemovedPerson.objects.filter(study=OuterRef("study")).order_by().values("study")
    own = removed.annotate(n=Sum("own_answers")).values("n")
    return Coalesce(Subquery(counted.values("n")), 0) + Coalesce(Subquery(own), 0)


def _changes_of_people() -> QuerySet[AnnotatorEvent]:
    """Withdrawals, exclusions, and reversed exclusions."""
    withdrew = Q(event="state", after=Annotator.State.WITHDREW)
    return AnnotatorEvent.objects.filter(withdrew | Q(event__in=("excluded", "included")))


def changes_of_people(study: Study) -> list[tuple[datetime, bool]]:
    """When people withdrew (True), or people or items were left out or counted again (False)."""
    people = _changes_of_people().filter(annotator__study=study)
    changes = [(at, event == "state") for at, event in people.values_list("created_at", "event")]
    items = study.log.filter(event__in=(TAKEN_OUT, PUT_BACK)).values_list("created_at", flat=True)
    return sorted([*changes, *((at, False) for at in items)])


def exclusions_since() -> Combinable:
    """How often people or items were left out, or counted again, since a row was created."""
    changes = _changes_of_people().filter(
        ~Q(event="state"),
        annotator__study=OuterRef("study"),
        created_at__gt=OuterRef("created_at"),
    )
    counted = changes.order_by().values("annotator__study").annotate(n=Count("pk"))
    of_items = StudyLog.objects.filter(
        event__in=(TAKEN_OUT, PUT_BACK),
        study=OuterRef("study"),
        created_at__gt=OuterRef("created_at"),
    )
    items = of_items.order_by().values("study").annotate(n=Count("pk"))
    return Coalesce(Subquery(counted.values("n")), 0) + Coalesce(Subquery(items.values("n")), 0)


def removed_own_answers(study: Study) -> int:
    """Number of labels removed from a study with the people who gave them."""
    removed = RemovedPerson.objects.filter(study=study).aggregate(n=Sum("own_answers", default=0))
    return int(removed["n"])


class PairAnswer(NamedTuple):
    """The answer to one item; `is_own` if it has the seat."""

    item: int
    key: str
    truth: str
    choice: str
    shown_first: str
    is_own: bool


class _Pair(NamedTuple):
    item: int
    key: str
    truth: str
    r1: int
    r2: int


class SetPairs:
    """The pairs of each set if annotators see whole sets; otherwise empty."""

    def __init__(self, study: Study, keys: Collection[str] | None = None) -> None:
        """`keys` limits this to the sets of the items with these keys."""
        self._set_of: dict[int, tuple[int, str]] = {}
        self._pairs: dict[tuple[int, str], list[_Pair]] = defaultdict(list)
        if not study.shows_whole_sets:
            return
        items = Item.objects.filter(study=study).exclude(option_set={})
        if keys is not None:
            named = items.filter(key__in=keys).values_list("persona", KT("option_set__id"))
            sets = set(named)
            items = items.filter(persona__in={persona for persona, _ in sets})
        rows = items.values_list(
            "pk",
            "key",
            "first_person",
            "persona",
            KT("option_set__id"),
            KT("option_set__place__r1"),
            KT("option_set__place__r2"),
        )
        for pk, key, truth, persona, set_id, r1, r2 in sorted(rows, key=lambda row: row[1]):
            if keys is None or (persona, set_id) in sets:
                self._set_of[pk] = persona, set_id
                pair = _Pair(pk, key, truth, int(r1), int(r2))
                self._pairs[persona, set_id].append(pair)

    @property
    def items(self) -> Collection[int]:
        """The ids of all items of the sets."""
        return self._set_of.keys()

    def of_set(self, item: int) -> list[int]:
        """The ids of all pairs in an item's set, including its own."""
        return [pair.item for pair in self._pairs[self._set_of[item]]]

    def answers(self, item: int, ranking: Mapping[str, Any]) -> Iterator[PairAnswer]:
        """The answers to a set's pairs that follow from the ranking stored at `item`."""
        place = {number: place for place, number in enumerate(ranking["ranking"])}
        position = {number: place for place, number in enumerate(ranking["shown"])}
        for pair in self._pairs[self._set_of[item]]:
            if pair.r1 in place and pair.r2 in place:
                yield PairAnswer(
                    pair.item,
                    pair.key,
                    pair.truth,
                    "r1" if place[pair.r1] < place[pair.r2] else "r2",
                    "r1" if position[pair.r1] < position[pair.r2] else "r2",
                    pair.item == item,
                )
