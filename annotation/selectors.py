"""What may be read of people and answers."""

from django.db.models import QuerySet

from annotation.flow import ending_of
from annotation.models import Annotator, Assignment, CompletionCode


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
