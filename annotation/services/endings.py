"""Endings of an annotator's part, exclusion from the analysis, and more time.

Each ending releases what the annotator held, adds a log row and has a code.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from annotation.errors import AlreadyEnded, PlacesError, Unfinished, WrongStep
from annotation.models import Annotation, Annotator, AnnotatorEvent, Draft
from annotation.seats import flow, quotas
from annotation.services.identities import forget_person
from studies.extra import Kind
from studies.models import Study
from studies.services.studies import lock_study, record
from studies.statements import clock


@dataclass(frozen=True)
class AtEnd:
    """An extra's callbacks for a locked annotator who completes or withdraws."""

    name: str
    completed: Callable[[Annotator], object]
    withdrew: Callable[[Annotator], object]


MORE: Kind[AtEnd] = Kind("events", "ended")
State = Annotator.State
_COMPLETING = {State.ANNOTATING, State.TIMED_OUT, State.RETURNED}


@transaction.atomic
def complete(*, annotator_id: int) -> Annotator:
    """End with every item answered; repeats change nothing.

    After a time-out or a return, the answers take the seats that are still free; the others are
    surplus. Raises `Unfinished`, `WrongStep`, `AlreadyEnded`.
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
    """Reverse a rejection: the annotator has completed. Raises as `complete` does."""
    annotator = flow.lock(annotator_id)
    if annotator.state == State.COMPLETED:
        return annotator
    if annotator.state != State.REJECTED:
        raise WrongStep(f"annotator {annotator.pk} is {annotator.state}, not rejected")
    return _complete(annotator, user=user)


def _complete(annotator: Annotator, *, user: User | None = None) -> Annotator:
    if missing := flow.unanswered(annotator):
        raise Unfinished(missing)
    flow.retake(annotator, answered=True)
    flow.end(annotator, State.COMPLETED, user=user)
    for follower in MORE.of(annotator.study):
        follower.completed(annotator)
    return annotator


@transaction.atomic
def withdraw(*, annotator_id: int) -> Annotator:
    """End at the annotator's request, even after completion: their answers leave the analysis.

    Their identity, their answers about themselves, the texts they wrote and the signals of their
    answers are deleted.
    """
    annotator = _end(annotator_id, State.WITHDREW)
    Annotation.objects.filter(assignment__annotator=annotator).update(signals=None)
    Draft.objects.filter(assignment__annotator=annotator).delete()
    forget_person(annotator)
    # Also of extras that are off: they keep their rows.
    for follower in MORE:
        follower.withdrew(annotator)
    return annotator


@transaction.atomic
def mark_returned(*, annotator_id: int, user: User | None = None) -> Annotator:
    """End because the annotator returned the place on the platform."""
    return _end(annotator_id, State.RETURNED, user=user)


@transaction.atomic
def time_out(*, annotator_id: int, user: User | None = None) -> Annotator:
    """End because time ran out; answers are kept, seats are released."""
    return _end(annotator_id, State.TIMED_OUT, user=user)


@transaction.atomic
def reject(*, annotator_id: int, user: User | None = None) -> Annotator:
    """End because a researcher rejected the submission on the platform."""
    return _end(annotator_id, State.REJECTED, user=user)


def _end(annotator_id: int, state: str, *, user: User | None = None) -> Annotator:
    """End in `state`; repeats change nothing."""
    annotator = flow.lock(annotator_id)
    if annotator.state == state:
        return annotator
    if state == State.WITHDREW:
        record(annotator.study, "participant withdrew", rater=annotator.pseudonym)
    return flow.end(annotator, state, user=user)


@transaction.atomic
def exclude(
    *, annotator_id: int, reason: str, user: User | None = None, reopen_seats: bool = False
) -> Annotator:
    """Exclude an annotator's answers from every report; repeats change nothing.

    Their seats and quota place stay filled unless `reopen_seats`: then others are needed, and paid,
    for them. Raises `WrongStep` if seats are reopened before the annotator's part is over.
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
    """Reverse an exclusion; the annotator retakes reopened seats that are still free."""
    annotator = flow.lock(annotator_id)
    if annotator.excluded_at is None:
        return annotator
    annotator.excluded_at = None
    annotator.exclusion_reason = ""
    annotator.save(update_fields=["excluded_at", "exclusion_reason"])
    if annotator.state == Annotator.State.COMPLETED and not annotator.is_imported:
        flow.retake(annotator, answered=True)
        quotas.fill(annotator)
        flow.use_surplus(annotator.study, among=Q(annotator=annotator))
    AnnotatorEvent.objects.create(annotator=annotator, user=user, event="included")
    record(annotator.study, "person included again", user=user, rater=annotator.pseudonym)
    return annotator


def release_expired(*, study_id: int | None = None) -> int:
    """End the part of every annotator whose time is over; return how many. Safe to repeat.

    One transaction per study, so that no study waits for another.
    """
    due = Annotator.objects.filter(flow.is_over(), state__in=flow.ACTIVE)
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

    An annotator who has answered everything has completed, even if the last page was never sent. In
    a closed study they get that ending. An annotator whose answer is just being saved is locked and
    skipped: they have not left.
    """
    active = Annotator.objects.select_for_update(no_key=True, skip_locked=True).filter(
        study=study, state__in=flow.ACTIVE
    )
    if study.state != Study.State.CLOSED:
        active = active.filter(flow.is_over())
    ended = 0
    # Sorted here: in their order, SQLite would read everybody who ever came, at each arrival.
    for annotator in sorted(active.order_by(), key=attrgetter("pk")):
        annotator.study = study
        if flow.is_finished(annotator):
            flow.end(annotator, Annotator.State.COMPLETED)
        elif study.state == Study.State.CLOSED:
            flow.end(annotator, Annotator.State.CLOSED)
        else:
            flow.end(annotator, Annotator.State.TIMED_OUT)
        ended += 1
    return ended


@transaction.atomic
def release_unanswered(*, study_id: int, user: User | None = None) -> int:
    """Release the seats and places of annotators who never answered; return their number.

    They may continue, and retake free seats with their first answer. Raises `PlacesError` on a
    platform, where every annotator has their own place and time.
    """
    study = lock_study(study_id)
    if study.entry == Study.Entry.PROLIFIC:
        raise PlacesError("Prolific decides how long people keep their place.")
    people = flow.never_answered(study)
    seats = flow.seats_held(people)
    silent = list(people.select_for_update(no_key=True, skip_locked=True, of=("self",)))
    for annotator in silent:
        annotator.study = study
        annotator.first_answer_by = annotator.first_answer_by or clock.now()
        annotator.save(update_fields=["first_answer_by"])
        flow.end(annotator, Annotator.State.TIMED_OUT, user=user, never_answered=True)
    if silent:
        record(study, "unanswered seats released", user=user, people=len(silent), seats=seats)
    return len(silent)


EXTENDED = "extended"
# WCAG 2.2.1 requires ten extensions; a seat is not held forever.
EXTENSIONS = 10


def extensions_left(annotator: Annotator) -> int:
    return EXTENSIONS - annotator.events.filter(event=EXTENDED).count()


@transaction.atomic
def extend(*, annotator_id: int) -> Annotator:
    """Extend an annotator's time by half of the study's time limit, and log it.

    Works only near the limit, so a second press changes nothing, and ten times at most. The
    platform's clock does not change. Raises `AlreadyEnded`.
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
