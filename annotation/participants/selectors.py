"""Read access to annotators and answers."""

from annotation.models import Annotator, Assignment, CompletionCode
from annotation.seats.flow import ending_of


def assignment_at(annotator: Annotator, position: int) -> Assignment:
    """The annotator's assignment at a position, with item, persona, study, answer and draft.

    Raises `Assignment.DoesNotExist`.
    """
    assignment = Assignment.objects.select_related("item__persona", "annotation", "draft").get(
        annotator=annotator, position=position
    )
    # Already loaded with the annotator: this saves a wide join on the page that is opened most.
    assignment.item.study = annotator.study
    assignment.annotator = annotator
    return assignment


def completion_code(annotator: Annotator) -> str:
    """The code of the annotator's ending; empty until their part ends."""
    ending = ending_of(annotator)
    if ending is None:
        return ""
    return CompletionCode.objects.get(study=annotator.study_id, ending=ending).code
