"""Endings of an annotator's part; each releases what it held and leaves a log row and a code."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from annotation.errors import AlreadyEnded, Unfinished, WrongStep
from annotation.models import Annotator, Draft
from annotation.seats import flow
from annotation.services.identities import forget_person
from studies.additions import Additions
from studies.services.studies import record


@dataclass(frozen=True)
class AtEnd:
    """What an extra does with a locked annotator who completes, and with one who withdraws."""

    name: str
    completed: Callable[[Annotator], object]
    withdrew: Callable[[Annotator], object]


MORE: Additions[AtEnd] = Additions()
State = Annotator.State
_COMPLETING = {State.ANNOTATING, State.TIMED_OUT, State.RETURNED}


@transaction.atomic
def complete(*, annotator_id: int) -> Annotator:
    """End with every item answered; repeats change nothing.

    After a time-out or a return the answers take the seats that are still free and are surplus
    at the others. Raises `Unfinished`, `WrongStep`, `AlreadyEnded`.
    """
    annotator = flow.lock(annotator_id)
    if annotator.state == State.COMPLETED:
        return annotator
    if annotator.state not in _COMPLETING:
        error = WrongStep if annotator.state in flow.ACTIVE else AlreadyEnded
        raise error(f"annotator {annotator.pk} is {annotator.state}")
    return _complete(annotator)


@transaction.atomic
def reinstate(*, annotator_id: int, user: User | None = None) -> Annotator:
    """Reverse a rejection: the annotator has completed after all. Raises as `complete` does."""
    annotator = flow.lock(annotator_id)
    if annotator.state == State.COMPLETED:
        return annotator
    if annotator.state != State.REJECTED:
        raise WrongStep(f"annotator {annotator.pk} is {annotator.state}, not rejected")
    return _complete(annotator, user=user)


def _complete(annotator: Annotator, *, user: User | None = None) -> Annotator:
    if missing := flow.unanswered(annotator):
        raise Unfinished(missing)
    flow.take_back(annotator, answered=True)
    flow.end(annotator, State.COMPLETED, user=user)
    for each in MORE:
        each.completed(annotator)
    return annotator


@transaction.atomic
def withdraw(*, annotator_id: int) -> Annotator:
    """End at the annotator's request, also after completion: their answers leave the analysis.

    Their identity, their answers about themselves and the texts they wrote are deleted.
    """
    annotator = _end(annotator_id, State.WITHDREW)
    Draft.objects.filter(assignment__annotator=annotator).delete()
    forget_person(annotator)
    for each in MORE:
        each.withdrew(annotator)
    return annotator


@transaction.atomic
def mark_returned(*, annotator_id: int, user: User | None = None) -> Annotator:
    """End because the platform says that the annotator returned the place."""
    return _end(annotator_id, State.RETURNED, user=user)


@transaction.atomic
def time_out(*, annotator_id: int, user: User | None = None) -> Annotator:
    """End because the time limit is over; answers are kept, seats are released."""
    return _end(annotator_id, State.TIMED_OUT, user=user)


@transaction.atomic
def reject(*, annotator_id: int, user: User | None = None) -> Annotator:
    """End because the platform says that a researcher rejected the submission."""
    return _end(annotator_id, State.REJECTED, user=user)


def _end(annotator_id: int, state: str, *, user: User | None = None) -> Annotator:
    """End in `state`; repeats change nothing."""
    annotator = flow.lock(annotator_id)
    if annotator.state == state:
        return annotator
    if state == State.WITHDREW:
        record(annotator.study, "participant withdrew", rater=annotator.pseudonym)
    return flow.end(annotator, state, user=user)
