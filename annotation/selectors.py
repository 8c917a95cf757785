"""What may be read of people and answers."""

from dataclasses import dataclass

from annotation.models import Annotator, Assignment, Ending


@dataclass(frozen=True)
class Progress:
    answered: int
    total: int


def get_annotator(annotator_id: int) -> Annotator:
    """The annotator with their study; raises `Annotator.DoesNotExist`."""
    return Annotator.objects.select_related("study").get(pk=annotator_id)


def current_assignment(annotator_id: int) -> Assignment | None:
    """The first item without an answer (item, persona, study loaded), or None: all answered."""
    raise NotImplementedError


def assignment_at(annotator_id: int, position: int) -> Assignment:
    """The assignment at a position (item, persona, study, annotation loaded).

    Raises `Assignment.DoesNotExist`.
    """
    raise NotImplementedError


def progress(annotator_id: int) -> Progress:
    raise NotImplementedError


def ending_of(annotator: Annotator) -> Ending | None:
    """How the person's part ended, or None while it goes on."""
    raise NotImplementedError


def completion_code(annotator: Annotator) -> str:
    """The code of the person's ending."""
    raise NotImplementedError
