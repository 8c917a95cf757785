"""Annotators and their answers as rows, under the pseudonyms of the study."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from annotation.files.answers_out import annotation_rows
from annotation.files.answers_out import annotator_rows as rows_of_annotators
from annotation.models import Annotation, Annotator, AnnotatorEvent, DemographicQuestion
from studies.models import Item, Persona, RemovedPerson, Study

# Answers that fill a seat of their item, or were imported from a file.
COUNTED = (Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED)


def answer_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every answer to the items that count, by item key; withdrawn answers are left out."""
    for row in annotation_rows(study):
        if row["split"] == Item.Split.MAIN and row["standing"] != Annotation.Standing.WITHDRAWN:
            yield row


def answer_page(study: Study, *, after: tuple[str, str] | None, most: int) -> list[dict[str, Any]]:
    """At most `most` of the rows of `answer_rows`, after an item key and a rater."""
    item, rater = "assignment__item__key", "assignment__annotator__pseudonym"
    chosen = Q(assignment__item__study=study, assignment__item__split=Item.Split.MAIN)
    chosen &= ~Q(standing=Annotation.Standing.WITHDRAWN)
    if after is not None:
        key, person = after
        # The first condition lets the database begin at the item.
        chosen &= Q(**{f"{item}__gte": key})
        chosen &= Q(**{f"{item}__gt": key}) | Q(**{f"{rater}__gt": person})
    return list(annotation_rows(study, only=chosen, most=most))


def is_counted(row: Mapping[str, Any]) -> bool:
    """Whether the report counts the answer of a row."""
    return row["standing"] in COUNTED and not row["excluded"]


def annotator_rows(
    study: Study, *, identified: bool, order: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """The annotators with the ids in `order`; with their platform ids if `identified`."""
    return rows_of_annotators(study, identified=identified, order=order)


def demographics(
    study: Study, *, with_withdrawn: bool
) -> tuple[list[tuple[int, str, Mapping[str, str]]], list[str]]:
    """Ids, pseudonyms and demographics of the annotators, and the keys of the questions in order.

    Annotators who did not consent or withdrew are included only `with_withdrawn`.
    """
    found = Annotator.objects.filter(study=study)
    if not with_withdrawn:
        found = found.exclude(state__in=(Annotator.State.DECLINED, Annotator.State.WITHDREW))
    keys = DemographicQuestion.objects.filter(study=study).values_list("key", flat=True)
    return list(found.values_list("pk", "pseudonym", "demographics")), list(keys)


def counted_pseudonyms(study: Study) -> list[str]:
    """Pseudonyms of the annotators with at least one answer that the report counts."""
    counts = Annotation.objects.filter(
        assignment__annotator=OuterRef("pk"),
        assignment__item__split=Item.Split.MAIN,
        standing__in=COUNTED,
    )
    found = Annotator.objects.filter(Exists(counts), study=study, excluded_at=None)
    return list(found.values_list("pseudonym", flat=True))


def feature_keys(study: Study, personas: Collection[int] | None = None) -> dict[int, list[str]]:
    """The keys of each persona's features, by the persona's id; equal lists are one list.

    `personas` are the ids of those that are asked for, if not all.
    """
    lists: dict[tuple[str, ...], list[str]] = {}
    shown = {}
    found = Persona.objects.filter(study=study)
    if personas is not None:
        found = found.filter(pk__in=personas)
    rows = found.order_by().values_list("pk", "features")
    for pk, features in rows.iterator():
        keys = tuple(feature["key"] for feature in features)
        shown[pk] = lists.setdefault(keys, list(keys))
    return shown


def withdrawn_answers() -> Combinable:
    """The current number of withdrawn answers in the study of a row, for `annotate`.

    With the own answers of people who took their consent to be shown back.
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
    """Withdrawals, exclusions, and exclusions that were reversed."""
    withdrew = Q(event="state", after=Annotator.State.WITHDREW)
    return AnnotatorEvent.objects.filter(withdrew | Q(event__in=("excluded", "included")))


def changes_of_people(study: Study) -> list[tuple[datetime, bool]]:
    """When people of a study withdrew (True), or were excluded or included again (False)."""
    found = _changes_of_people().filter(annotator__study=study)
    return [
        (at, event == "state")
        for at, event in found.order_by("created_at").values_list("created_at", "event")
    ]


def exclusions_since() -> Combinable:
    """How often people were excluded or included again since a row was created, for `annotate`."""
    changes = _changes_of_people().filter(
        ~Q(event="state"),
        annotator__study=OuterRef("study"),
        created_at__gt=OuterRef("created_at"),
    )
    counted = changes.order_by().values("annotator__study").annotate(n=Count("pk"))
    return Coalesce(Subquery(counted.values("n")), 0)


def removed_own_answers(study: Study) -> int:
    """How many labels left a study with the people whose answers they were."""
    found = RemovedPerson.objects.filter(study=study).aggregate(n=Sum("own_answers", default=0))
    return int(found["n"])
