"""Read access to annotators and answers."""

from annotation.models import Annotator, Assignment, CompletionCode
from annotation.seats.flow import code_ending
from studies.statements.compiled import Select

_annotator = Select(
    lambda pk, slug: (
        Annotator.objects.filter(pk=pk, study__slug=slug).select_related("study").order_by()
    ),
    int,
    str,
)
_assignment = Select(
    lambda annotator_id, position: (
        Assignment.objects.filter(annotator=annotator_id, position=position)
        .select_related("item__persona", "annotation", "draft")
        .order_by()
    ),
    int,
    int,
)


def annotator_of(slug: str, annotator_id: int) -> Annotator | None:
    """The annotator with that id in study `slug`, with the study."""
    return _annotator.first(annotator_id, slug)


def assignment_at(annotator: Annotator, position: int) -> Assignment:
    """The annotator's assignment at a position, with item, persona, study, answer and draft.

    Raises `Assignment.DoesNotExist`.
    """
    assignment = _assignment.first(annotator.pk, position)
    if assignment is None:
        raise Assignment.DoesNotExist(f"annotator {annotator.pk} has nothing at {position}")
    # Already loaded with the annotator: this saves a wide join on the page that is opened most.
    assignment.item.study = annotator.study
    assignment.annotator = annotator
    return assignment


def completion_code(annotator: Annotator) -> str:
    """The code of the annotator's ending; empty until their part ends."""
    ending = code_ending(annotator)
    if ending is None:
        return ""
    return CompletionCode.objects.get(study=annotator.study_id, ending=ending).code
