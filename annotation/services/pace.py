"""One gentle word to somebody who answers faster than anybody reads; it decides nothing."""

from django.db import transaction

from annotation.models import Annotator, AnnotatorEvent
from annotation.seats import flow

HURRIED = "hurried"


@transaction.atomic
def note_hurry(*, annotator_id: int, position: int) -> None:
    """Log that the word is said at the item `position`; it is said once to a person."""
    annotator = flow.lock(annotator_id)
    if not annotator.events.filter(event=HURRIED).exists():
        AnnotatorEvent.objects.create(
            annotator=annotator, event=HURRIED, detail={"position": position}
        )


def is_told(annotator: Annotator, position: int) -> bool:
    """Whether the word stands at this item."""
    return annotator.events.filter(event=HURRIED, detail={"position": position}).exists()
