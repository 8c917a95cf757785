"""The state machine of an annotator's part: only this module changes `Annotator.state`.

    arrived → consented → screened → instructed → qualified → annotating → completed
       ├→ declined     └→ quota_full   └→ disqualified            → withdrew · returned ·
       └→ closed                                                    timed_out · rejected

Every ending releases what the annotator held, writes a log row and has a completion code.
"""

import datetime as dt
import math
from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from annotation.errors import AlreadyEnded, WrongStep
from annotation.models import (
    Annotation,
    Annotator,
    AnnotatorEvent,
    Assignment,
    CompletionCode,
    Ending,
)
from annotation.seats import assignment, quotas
from annotation.seats.assignment import has_lost_place, is_doubtful
from annotation.seats.item_statements import insert, locked_annotator, update
from studies.models import Study
from studies.statements import clock

State = Annotator.State

# The page (its path below /s/<slug>/) of each state; `done/` is the ending page.
STEPS: dict[str, str] = {
    State.ARRIVED: "consent",
    State.CONSENTED: "about",
    State.SCREENED: "instructions",
    State.INSTRUCTED: "quiz",
    State.QUALIFIED: "practice",
    State.ANNOTATING: "task",
}
ACTIVE = frozenset(STEPS)

# The time field that each step sets, which decides where an annotator resumes.
_MOMENTS: dict[str, str] = {
    State.CONSENTED: "consented_at",
    State.SCREENED: "screened_at",
    State.INSTRUCTED: "instructed_at",
    State.QUALIFIED: "qualified_at",
    State.ANNOTATING: "started_at",
}
_LEAVE = {State.CLOSED, State.WITHDREW, State.RETURNED, State.TIMED_OUT, State.REJECTED}
_TRANSITIONS: dict[str, set[str]] = {
    State.ARRIVED: {State.CONSENTED, State.DECLINED} | _LEAVE,
    State.CONSENTED: {State.SCREENED, State.QUOTA_FULL} | _LEAVE,
    State.SCREENED: {State.INSTRUCTED, State.DISQUALIFIED} | _LEAVE,
    State.INSTRUCTED: {State.QUALIFIED, State.DISQUALIFIED} | _LEAVE,
    State.QUALIFIED: {State.ANNOTATING} | _LEAVE,
    State.ANNOTATING: {State.COMPLETED} | _LEAVE,
    State.COMPLETED: {State.WITHDREW, State.RETURNED, State.REJECTED},
    # After these endings, an annotator may continue where they stopped.
    State.TIMED_OUT: {State.COMPLETED, *ACTIVE, State.WITHDREW, State.RETURNED, State.REJECTED},
    State.RETURNED: {State.COMPLETED, *ACTIVE, State.WITHDREW, State.REJECTED},
    State.CLOSED: {*ACTIVE, State.WITHDREW, State.RETURNED, State.REJECTED},
    State.REJECTED: {State.COMPLETED, State.WITHDREW},
    State.DECLINED: set(),
    State.QUOTA_FULL: set(),
    State.DISQUALIFIED: set(),
    State.WITHDREW: set(),
}


def step_of(annotator: Annotator) -> str:
    """The annotator's current step; "done" after every ending."""
    return STEPS.get(annotator.state, "done")


def ending_of(annotator: Annotator) -> Ending | None:
    """How the annotator's part ended, or None while it continues."""
    if annotator.state in ACTIVE:
        return None
    if annotator.state == State.COMPLETED and annotator.failed_attention:
        return Ending.FAILED_ATTENTION
    return Ending(annotator.state)


def code_ending(annotator: Annotator) -> Ending | None:
    """The ending whose completion code the annotator gets; None while their part continues.

    Withdrawing after completion does not change the pay, so they keep the completion code, unless
    the platform did not know them.
    """
    ending = ending_of(annotator)
    if ending != Ending.WITHDREW or _was_doubtful(annotator):
        return ending
    if not annotator.events.filter(before=State.COMPLETED, after=State.WITHDREW).exists():
        return ending
    return Ending.FAILED_ATTENTION if annotator.failed_attention else Ending.COMPLETED


def completion_code(annotator: Annotator) -> str:
    """The code of the annotator's ending; empty until their part ends."""
    ending = code_ending(annotator)
    if ending is None:
        return ""
    return CompletionCode.objects.get(study=annotator.study_id, ending=ending).code


def finished(annotator_ids: Collection[int]) -> set[int]:
    """The annotators among these who completed, whatever happened afterwards."""
    events = AnnotatorEvent.objects.filter(
        annotator__in=annotator_ids, event="state", after=State.COMPLETED
    )
    return set(events.values_list("annotator", flat=True))


def _was_doubtful(annotator: Annotator) -> bool:
    """Whether the platform did not know the annotator last, by the log: withdrawing deletes ids."""
    told = AnnotatorEvent.objects.filter(annotator=annotator, event__endswith="known on Prolific")
    last = told.order_by("-pk").first()
    return last is not None and last.event.startswith("un")


def time_limit(study: Study) -> dt.timedelta:
    """How long an annotator keeps their seats.

    At least the time that Prolific allows for a study of this length.
    """
    minutes = study.minutes
    return dt.timedelta(minutes=math.ceil(2 + 2 * minutes + 2 * math.sqrt(minutes)))


def warning_time(study: Study) -> dt.timedelta:
    """How long before the limit an annotator is warned and can extend the time."""
    return min(dt.timedelta(minutes=15), time_limit(study) / 3)


def lock(annotator_id: int) -> Annotator:
    """Lock the study, then the annotator, and return the annotator's current data.

    Raises `Annotator.DoesNotExist`.
    """
    return locked_annotator(annotator_id, with_study=True)


def lock_alone(annotator_id: int) -> Annotator:
    """Lock only the annotator, for a change of neither seats nor places.

    When many arrive at once, those who lock the study wait until the change before is on the disk.
    Nothing may lock the study afterwards. Raises `Annotator.DoesNotExist`.
    """
    return locked_annotator(annotator_id, with_study=False)


def move(annotator: Annotator, state: str, *, user: User | None = None, **detail: Any) -> Annotator:
    """Change the state of a locked annotator and log it.

    Raises `AlreadyEnded` or `WrongStep` if the state machine does not allow the change.
    """
    before = annotator.state
    if state not in _TRANSITIONS[before]:
        error = WrongStep if before in ACTIVE else AlreadyEnded
        raise error(f"annotator {annotator.pk} is {before} and cannot become {state}")
    now = clock.now()
    annotator.state = state
    annotator.ended_at = None if state in ACTIVE else now
    fields = ["state", "ended_at"]
    if (moment := _MOMENTS.get(state)) and getattr(annotator, moment) is None:
        setattr(annotator, moment, now)
        fields.append(moment)
    if renew(annotator):
        fields.append("first_answer_by")
    update(annotator, fields)
    insert(
        AnnotatorEvent(
            annotator=annotator, user=user, event="state", before=before, after=state, detail=detail
        )
    )
    return annotator


def end(annotator: Annotator, state: str, *, user: User | None = None, **detail: Any) -> Annotator:
    """End the part of an annotator who is locked together with the study.

    Completion keeps the seats and the quota place, and takes seats that have become free, but an
    annotator who skipped most items loses the place. Every other ending releases both.
    """
    move(annotator, state, user=user, **detail)
    annotator.expires_at = None
    if state == State.COMPLETED:
        annotator.failed_attention = _has_failed_attention(annotator)
    annotator.save(update_fields=["expires_at", "failed_attention"])
    if state == State.COMPLETED:
        if assignment.fills_a_place(annotator):
            quotas.fill(annotator)
        else:
            quotas.release(annotator)
        use_surplus(annotator.study, among=Q(annotator=annotator))
    else:
        withdrawn = state == State.WITHDREW
        standing = Annotation.Standing.WITHDRAWN if withdrawn else Annotation.Standing.RELEASED
        give_back(annotator, standing=standing)
    ensure_codes(annotator.study_id)
    return annotator


def give_back(annotator: Annotator, *, standing: str = Annotation.Standing.RELEASED) -> int:
    """Release seats and quota place of a locked annotator; return the number of seats.

    Surplus work takes them immediately.
    """
    seats = assignment.release_seats(annotator, standing=standing)
    quotas.release(annotator)
    use_surplus(annotator.study, among=Q(item__assignments__annotator=annotator))
    return seats


def use_surplus(study: Study, *, among: Q) -> None:
    """Let surplus work take open seats, first that of annotators with a place.

    Then that of annotators beyond their group: see `quotas.give_open_places`.
    """
    assignment.fill_from_surplus(among)
    quotas.give_open_places(study)


def unanswered(annotator: Annotator) -> int:
    """How many of the annotator's items have no answer and were not skipped."""
    open_items = annotator.assignments.filter(annotation=None)
    return open_items.exclude(state=Assignment.State.SKIPPED).count()


def _has_failed_attention(annotator: Annotator) -> bool:
    """Whether enough attention checks failed; one slip in a long study is not enough."""
    checks = Annotation.objects.filter(
        assignment__annotator=annotator, standing=Annotation.Standing.CHECK
    )
    failed = checks.exclude(choice=F("assignment__item__check_answer")).count()
    return failed >= assignment.checks_needed(annotator.study)


def is_finished(annotator: Annotator) -> bool:
    return annotator.state == State.ANNOTATING and unanswered(annotator) == 0


def resume(annotator: Annotator) -> Annotator:
    """Let a locked annotator who timed out, returned or met a closed study continue.

    They retake a quota place and seats if these are free; otherwise the work continues as surplus.
    An annotator who lost their place on the platform retakes them with the last answer.
    """
    state = next((s for s in reversed(_MOMENTS) if getattr(annotator, _MOMENTS[s])), State.ARRIVED)
    move(annotator, state, resumed=True)
    annotator.expires_at = clock.now() + time_limit(annotator.study)
    annotator.save(update_fields=["expires_at"])
    retake(annotator)
    return annotator


def retake(annotator: Annotator, *, answered: bool = False) -> None:
    """Retake the quota place and seats that are free; the rest becomes surplus."""
    lost = has_lost_place(annotator)
    waits = lost and not answered
    if is_doubtful(annotator) or (waits and not annotator.assignments.exists()):
        annotator.works_surplus = True
        annotator.save(update_fields=["works_surplus"])
    if annotator.screened_at and not (annotator.works_surplus or annotator.quota or waits):
        if not quotas.retake_place(annotator):
            annotator.works_surplus = True
            annotator.save(update_fields=["works_surplus"])
    assignment.retake_seats(annotator, answered=answered, lost_place=lost)
    if annotator.works_surplus:
        quotas.give_open_places(annotator.study)
        annotator.refresh_from_db(fields=["works_surplus", "quota"])


def unseat(annotator: Annotator) -> None:
    """Mark a locked annotator's answers as surplus, and free their seats and quota place.

    For an annotator who continues or has completed. `seat_again` gives both back if free.
    """
    if annotator.works_surplus or not _keeps_work(annotator):
        return
    annotator.works_surplus = True
    annotator.save(update_fields=["works_surplus"])
    give_back(annotator)
    assignment.retake_seats(annotator, answered=annotator.state == State.COMPLETED)


def seat_again(annotator: Annotator) -> None:
    """Let a locked annotator without seats take a free quota place and free seats."""
    if not annotator.works_surplus or has_lost_place(annotator):
        return
    if annotator.quota_group is not None:
        quotas.give_open_places(annotator.study)
        return
    annotator.works_surplus = False
    annotator.save(update_fields=["works_surplus"])
    if _keeps_work(annotator):
        assignment.seat_surplus(annotator)


def _keeps_work(annotator: Annotator) -> bool:
    return annotator.state in ACTIVE or annotator.state == State.COMPLETED


# In these states an annotator may hold a quota place, and later seats.
_HOLDS = frozenset({State.SCREENED, State.INSTRUCTED, State.QUALIFIED, State.ANNOTATING})
_ACTIVE = frozenset({State.ARRIVED, State.CONSENTED, *_HOLDS})


def limit() -> dt.datetime:
    """When the time for a first answer ends if it begins now."""
    return clock.now() + dt.timedelta(minutes=settings.FIRST_ANSWER_MINUTES)


def renew(annotator: Annotator) -> bool:
    """Extend the time for a first answer at each step; True if that changed anything.

    Annotators whose id nobody vouches for have this limit, and so do those with an open link.
    """
    by_link = annotator.study.entry == Study.Entry.LINK and annotator.state == State.SCREENED
    if annotator.state not in _HOLDS or not (annotator.first_answer_by or by_link):
        return False
    annotator.first_answer_by = limit()
    return True


def end_first_answer_limit(annotator: Annotator) -> None:
    """Remove the limit after the first answer, or when the platform confirms the annotator.

    Then only the study's time limit applies.
    """
    if annotator.first_answer_by is not None:
        annotator.first_answer_by = None
        annotator.save(update_fields=["first_answer_by"])


def is_over() -> Q:
    """The filter for active annotators whose time is over."""
    now = clock.now()
    return Q(expires_at__lt=now) | Q(first_answer_by__lt=now, state__in=_HOLDS)


def lost_place_unanswered(annotator: Annotator) -> bool:
    """Whether the annotator lost their place before a first answer and may retake it."""
    return annotator.state == State.TIMED_OUT and annotator.first_answer_by is not None


def never_answered(study: Study) -> QuerySet[Annotator]:
    """Active annotators who hold seats or a quota place without any answer."""
    own = Assignment.objects.filter(annotator=OuterRef("pk"))
    seated = own.filter(is_surplus=False, state=Assignment.State.RESERVED)
    return (
        Annotator.objects.filter(study=study, state__in=_ACTIVE, is_imported=False)
        .filter(Exists(seated) | Q(quota=Annotator.Quota.RESERVED))
        .exclude(Exists(own.filter(annotation__isnull=False)))
    )


def seats_held(people: QuerySet[Annotator]) -> int:
    """How many seats these annotators hold without an answer."""
    return Assignment.objects.filter(
        annotator__in=people, is_surplus=False, state=Assignment.State.RESERVED
    ).count()


def ensure_codes(study_id: int) -> None:
    """Create the codes that the study does not have yet."""
    known = set(CompletionCode.objects.filter(study_id=study_id).values_list("ending", flat=True))
    # Two simultaneous arrivals may both find no code: the unique constraint keeps the first one.
    CompletionCode.objects.bulk_create(
        [
            CompletionCode(study_id=study_id, ending=ending)
            for ending in Ending
            if ending not in known
        ],
        ignore_conflicts=True,
    )


def codes_of(study_id: int) -> dict[Ending, str]:
    """Every ending of a study with its code, in the order of `Ending`; creates missing codes."""
    ensure_codes(study_id)
    rows = CompletionCode.objects.filter(study_id=study_id).values_list("ending", "code")
    codes = dict(rows)
    return {ending: codes[ending] for ending in Ending}


def code_for(*, study_id: int, ending: str) -> str:
    """The code of an ending; the first call for a study creates all of its codes."""
    codes = CompletionCode.objects.filter(study_id=study_id, ending=ending)
    if not codes.exists():
        ensure_codes(study_id)
    return codes.get().code
