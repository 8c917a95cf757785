"""Release the seats and places of annotators whose time is over, on access and by schedule."""

from django.db import transaction

from annotation.models import Annotator
from annotation.seats import first_answers, flow
from studies.models import Study
from studies.services.studies import lock_study


def release_expired(*, study_id: int | None = None) -> int:
    """End the part of every annotator whose time is over, and return how many; safe to run twice.

    One transaction per study, so that no study waits for another.
    """
    due = Annotator.objects.filter(first_answers.is_over(), state__in=flow.ACTIVE)
    stopped = Annotator.objects.filter(
        state__in=flow.ACTIVE, study__state=Study.State.CLOSED, is_imported=False
    )
    if study_id is not None:
        due, stopped = due.filter(study=study_id), stopped.filter(study=study_id)
    study_ids = {*due.values_list("study", flat=True), *stopped.values_list("study", flat=True)}
    ended = 0
    for pk in sorted(study_ids):
        with transaction.atomic():
            ended += expire_due(lock_study(pk))
    return ended


def expire_due(study: Study) -> int:
    """End the part of everybody in a locked study whose time is over; return how many.

    An annotator who has answered everything has completed, even if the last page was never sent. An
    annotator in a closed study gets that ending. An annotator whose answer is being saved at this
    moment is locked by that save and skipped: they have not left.
    """
    active = Annotator.objects.select_for_update(no_key=True, skip_locked=True).filter(
        study=study, state__in=flow.ACTIVE
    )
    if study.state != Study.State.CLOSED:
        active = active.filter(first_answers.is_over())
    ended = 0
    for annotator in active.order_by("pk"):
        annotator.study = study
        if flow.is_finished(annotator):
            flow.end(annotator, Annotator.State.COMPLETED)
        elif study.state == Study.State.CLOSED:
            flow.end(annotator, Annotator.State.CLOSED)
        else:
            flow.end(annotator, Annotator.State.TIMED_OUT)
        ended += 1
    return ended
