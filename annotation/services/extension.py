"""More time for an annotator who asks for it before their time is over."""

from django.db import transaction

from annotation.errors import AlreadyEnded
from annotation.models import Annotator, AnnotatorEvent
from annotation.seats import flow
from studies.statements import clock

EXTENDED = "extended"
# The number that WCAG 2.2.1 requires; a seat is not held for ever.
EXTENSIONS = 10


def extensions_left(annotator: Annotator) -> int:
    return EXTENSIONS - annotator.events.filter(event=EXTENDED).count()


@transaction.atomic
def extend(*, annotator_id: int) -> Annotator:
    """Extend an annotator's time by half of the study's time limit; it is logged.

    Only near the limit, so a second press changes nothing, and ten times at most. The platform's
    own clock does not change. Raises `AlreadyEnded`.
    """
    annotator = flow.lock(annotator_id)
    if annotator.state not in flow.ACTIVE:
        raise AlreadyEnded(f"annotator {annotator.pk} is {annotator.state}")
    now = clock.now()
    limit = annotator.expires_at or now
    if limit - now > flow.warning_time(annotator.study) or not extensions_left(annotator):
        return annotator
    annotator.expires_at = max(limit, now) + flow.time_limit(annotator.study) / 2
    annotator.save(update_fields=["expires_at"])
    AnnotatorEvent.objects.create(
        annotator=annotator, event=EXTENDED, detail={"until": annotator.expires_at.isoformat()}
    )
    return annotator
