"""What may be read of people and answers."""

import datetime as dt
from collections.abc import Iterator
from typing import NamedTuple

from django.db.models import Q, QuerySet

from annotation.flow import ending_of
from annotation.models import Annotation, Annotator, Assignment, CompletionCode


def get_annotator(annotator_id: int) -> Annotator:
    """The annotator with their study; raises `Annotator.DoesNotExist`."""
    return Annotator.objects.select_related("study").get(pk=annotator_id)


def _with_item(assignments: QuerySet[Assignment]) -> QuerySet[Assignment]:
    return assignments.select_related("item__persona", "item__study", "annotation")


def current_assignment(annotator_id: int) -> Assignment | None:
    """The first item without an answer (item, persona, study loaded), or None: all answered."""
    return (
        _with_item(Assignment.objects.filter(annotator=annotator_id, annotation=None))
        .order_by("position")
        .first()
    )


def assignment_at(annotator_id: int, position: int) -> Assignment:
    """The assignment at a position (item, persona, study, annotation loaded).

    Raises `Assignment.DoesNotExist`.
    """
    return _with_item(Assignment.objects.all()).get(annotator=annotator_id, position=position)


def completion_code(annotator: Annotator) -> str:
    """The code of the person's ending; empty while their part goes on."""
    ending = ending_of(annotator)
    if ending is None:
        return ""
    return CompletionCode.objects.get(study=annotator.study_id, ending=ending).code


class AnswerRow(NamedTuple):
    """One answer that counts, as the analysis reads it."""

    item: str
    annotator: str
    shown_first: str
    choice: str
    certainty: int | None
    active_ms: int | None
    answered_at: dt.datetime | None


def counting() -> Q:
    """Answers that a report uses: counted and imported, of people who are not excluded."""
    return Q(
        standing__in=[Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED],
        assignment__annotator__excluded_at=None,
        assignment__item__split="main",
    )


def answer_rows(study_id: int) -> Iterator[AnswerRow]:
    """The answers of a study that count, by item key, then by annotator."""
    rows = (
        Annotation.objects.filter(counting(), assignment__annotator__study=study_id)
        .order_by("assignment__item__key", "assignment__annotator__pseudonym")
        .values_list(
            "assignment__item__key",
            "assignment__annotator__pseudonym",
            "assignment__shown_first",
            "choice",
            "certainty",
            "active_ms",
            "answered_at",
        )
    )
    return (AnswerRow(*row) for row in rows.iterator(chunk_size=5000))
