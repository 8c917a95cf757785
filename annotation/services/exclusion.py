"""Exclude annotators from the analysis: with a reason, logged, and reversible."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.errors import WrongStep
from annotation.models import Annotator, AnnotatorEvent
from annotation.seats import flow, quotas
from studies.services.studies import record
from studies.statements import clock


@transaction.atomic
def exclude(
    *, annotator_id: int, reason: str, user: User | None = None, reopen_seats: bool = False
) -> Annotator:
    """Exclude an annotator's answers from every report; repeats change nothing.

    Their seats and their quota place stay filled unless `reopen_seats`: then other annotators are
    needed, and paid, for them. Seats can be reopened only when the annotator's part is over;
    otherwise raises `WrongStep`.
    """
    annotator = flow.lock(annotator_id)
    if not reason.strip():
        raise ValueError("an exclusion needs a reason")
    if annotator.excluded_at is not None:
        return annotator
    if reopen_seats and annotator.state in flow.ACTIVE:
        raise WrongStep(f"annotator {annotator.pk} is {annotator.state}: end their part first")
    annotator.excluded_at = clock.now()
    annotator.exclusion_reason = reason.strip()
    annotator.save(update_fields=["excluded_at", "exclusion_reason"])
    seats = 0
    if reopen_seats and not annotator.is_imported:
        seats = flow.give_back(annotator)
    AnnotatorEvent.objects.create(
        annotator=annotator,
        user=user,
        event="excluded",
        detail={"reason": annotator.exclusion_reason, "seats_reopened": seats},
    )
    record(
        annotator.study,
        "person excluded",
        user=user,
        rater=annotator.pseudonym,
        reason=annotator.exclusion_reason,
        seats_reopened=seats,
    )
    return annotator


@transaction.atomic
def include(*, annotator_id: int, user: User | None = None) -> Annotator:
    """Reverse an exclusion; the annotator takes reopened seats again if nobody else took them."""
    annotator = flow.lock(annotator_id)
    if annotator.excluded_at is None:
        return annotator
    annotator.excluded_at = None
    annotator.exclusion_reason = ""
    annotator.save(update_fields=["excluded_at", "exclusion_reason"])
    if annotator.state == Annotator.State.COMPLETED and not annotator.is_imported:
        flow.take_back(annotator, answered=True)
        quotas.fill(annotator)
        flow.use_surplus(annotator.study, among=Q(annotator=annotator))
    AnnotatorEvent.objects.create(annotator=annotator, user=user, event="included")
    record(annotator.study, "person included again", user=user, rater=annotator.pseudonym)
    return annotator
