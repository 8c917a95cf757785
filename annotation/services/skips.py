"""Skip an item that an annotator does not want to judge; it costs them nothing."""

from django.db import transaction
from django.db.models import Q

from annotation.errors import AlreadyEnded, WrongStep
from annotation.models import Annotation, Annotator, Assignment, Draft
from annotation.seats import assignment as seats
from annotation.seats import flow

_SKIPPING = {Annotator.State.ANNOTATING, Annotator.State.TIMED_OUT, Annotator.State.RETURNED}


@transaction.atomic
def skip_item(*, annotator_id: int, assignment_id: int) -> Assignment:
    """Store that the annotator skipped an item and give its seat back; repeats change nothing.

    A skipped item counts as done for completion. Raises `Assignment.DoesNotExist` (not this
    annotator's), `AlreadyEnded`, `WrongStep` (the item has an answer, which stays).
    """
    annotator = flow.lock(annotator_id)
    if annotator.state not in _SKIPPING:
        raise AlreadyEnded(f"annotator {annotator_id} is {annotator.state}")
    assignment = annotator.assignments.select_for_update(no_key=True).get(pk=assignment_id)
    if Annotation.objects.filter(assignment=assignment).exists():
        raise WrongStep(f"assignment {assignment_id} has an answer")
    Draft.objects.filter(assignment=assignment).delete()
    if assignment.state != Assignment.State.SKIPPED:
        seats.skip(assignment)
        flow.use_surplus(annotator.study, among=Q(item=assignment.item_id))
    return assignment
