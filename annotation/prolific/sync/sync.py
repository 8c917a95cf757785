"""Synchronisation with Prolific: an event is only a hint, the data read afterwards counts."""

import datetime as dt
import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from annotation import services
from annotation.errors import Unfinished, WrongStep
from annotation.models import (
    Annotator,
    AnnotatorEvent,
    ProlificIdentity,
    ProlificStudy,
    ProlificSubmission,
    Recruitment,
)
from annotation.prolific.api import types
from annotation.prolific.api.accounts import note_accepted
from annotation.prolific.api.balance import Account, read_account
from annotation.prolific.api.client import MAX_BULK_APPROVE, ProlificClient, connect
from annotation.prolific.api.transport import (
    NotFound,
    ProlificError,
    ProlificRejected,
    ProlificUnreachable,
    Unauthorized,
)
from annotation.prolific.api.types import RemoteSubmission
from annotation.prolific.launch.launch import mirror
from annotation.prolific.launch.launch_plan import workspace_of
from annotation.prolific.launch.publication import pause_full
from annotation.prolific.money import confirm_sent
from annotation.seats import flow
from annotation.seats.assignment import LEFT, is_doubtful
from annotation.services.admission import confirm, doubt
from annotation.services.identities import erased_ids, forget_withdrawn, identity_hashes
from studies.models import Study
from studies.services.studies import record
from studies.statements import clock

# Looks up a session and applies it; False if Prolific does not know it.
Refresh = Callable[..., bool]

# After this time a submission is no longer looked for: the participant has left.
_LOOKED_FOR = dt.timedelta(days=2)
_FIRST_WAIT = dt.timedelta(minutes=1)
_LONGEST_WAIT = dt.timedelta(hours=6)
# The shortest time between two requests to Prolific for a page that is reloaded.
_PAGE_WAIT = dt.timedelta(seconds=20)
# Short, because a participant is waiting for the page.
PAGE_SECONDS = 4.0
# How many of a web process's four threads may ask Prolific at once.
MOST_ASKING = 2
_asking = threading.BoundedSemaphore(MOST_ASKING)


@contextmanager
def page_client(study_id: int) -> Iterator[ProlificClient]:
    """A client that gives up soon, for a page that a participant is waiting for.

    Raises `Unreachable` if too many threads are asking, because most must serve people in mid-work.
    The synchronisation every minute looks up what was not asked here.
    """
    if not _asking.acquire(blocking=False):
        raise ProlificUnreachable("Too many requests to Prolific are already running.")
    try:
        yield connect(study_id, patience=0.0, timeout=PAGE_SECONDS)
    finally:
        _asking.release()


def is_watched(study: Study) -> bool:
    """Whether a study's participants can be looked up: it was launched from here."""
    return with_account(ProlificStudy.objects.filter(study=study)).exists()


def with_account(rows: "QuerySet[ProlificStudy]") -> "QuerySet[ProlificStudy]":
    """Those that were created on Prolific, and whose studies have an account."""
    rows = rows.filter(prolific_id__isnull=False)
    if settings.PROLIFIC_API_TOKEN:
        return rows
    return rows.filter(study__recruitment__prolific_account__isnull=False)


def look_up_unlisted(study: Study, client: ProlificClient, refresh: Refresh) -> int:
    """Look up annotators who are in no list, less and less often; return how many were found.

    This also finds participants of a quota study, whose submissions may belong to its child
    studies.
    """
    listed = ProlificSubmission.objects.filter(prolific_study__study=study)
    known = set(listed.values_list("submission_id", flat=True))
    confirmed = set(listed.values_list("annotator", flat=True))
    now = clock.now()
    recent = ProlificIdentity.objects.filter(
        annotator__study=study, annotator__created_at__gt=now - _LOOKED_FOR
    )
    changed = 0
    for identity in recent:
        if identity.annotator_id in confirmed and identity.unknown_since is not None:
            confirm(annotator_id=identity.annotator_id)
        unlisted = [session for session in identity.session_ids if session not in known]
        is_unclear = bool(identity.session_ids) and identity.annotator_id not in confirmed
        if (unlisted or is_unclear) and is_due(identity, now):
            # All sessions of somebody who entered after the lists were read: the entry stored the
            # submission before there was an annotator, and only a reading joins the two.
            sessions = identity.session_ids if is_unclear else unlisted
            changed += _look(identity, client, refresh, sessions)
    return changed


def is_due(identity: ProlificIdentity, now: dt.datetime) -> bool:
    """Whether the next look-up is due: after 1, 2, 4, 8 … minutes."""
    if identity.looked_at is None:
        return True
    wait = min(_FIRST_WAIT * 2 ** min(max(0, identity.looks - 1), 12), _LONGEST_WAIT)
    # Slightly less, so that the run once a minute does not just miss it.
    return now >= identity.looked_at + wait - dt.timedelta(seconds=5)


def _look(
    identity: ProlificIdentity, client: ProlificClient, refresh: Refresh, sessions: list[str]
) -> int:
    """Look up an annotator's sessions; one who is not found is in doubt from then on."""
    changed = sum(refresh(session, client=client) for session in sessions)
    person = ProlificIdentity.objects.filter(pk=identity.pk)
    if ProlificSubmission.objects.filter(annotator=identity.annotator_id).exists():
        # A further session of a known annotator.
        person.update(looked_at=clock.now(), looks=identity.looks + 1)
    else:
        doubt(annotator_id=identity.annotator_id)
    return changed


def is_confirmed(annotator: Annotator, refresh: Refresh) -> bool:
    """Whether a completion code may be shown: not if Prolific says the annotator is unknown.

    An annotator who is in no list yet is looked up now. An outage of Prolific does not affect
    annotators who were never unknown.
    """
    identity = ProlificIdentity.objects.filter(annotator=annotator).first()
    is_known = (
        identity is None
        or not identity.session_ids
        or not is_watched(annotator.study)
        or (identity.unknown_since is None and _is_vouched_for(identity))
    )
    if is_known or identity is None:
        return True
    due = ProlificIdentity.objects.filter(
        Q(looked_at=None) | clock.long_ago("looked_at", _PAGE_WAIT), pk=identity.pk
    )
    try:
        # Marked only inside: somebody who cannot be looked up now may look again at once.
        with page_client(annotator.study_id) as client:
            if due.update(looked_at=clock.now()):
                _look(identity, client, refresh, identity.session_ids)
    except ProlificError as error:
        logger.info("annotator %s could not be looked up: %s", annotator.pk, error)
    return not is_doubtful(annotator)


def _is_vouched_for(identity: ProlificIdentity) -> bool:
    return (
        identity.is_signed
        or ProlificSubmission.objects.filter(annotator=identity.annotator_id).exists()
    )


logger = logging.getLogger(__name__)
State = Annotator.State

# An approval that is not visible after this time is requested again; a repeat is free.
_ASK_AGAIN = dt.timedelta(minutes=2)
# Arrivals, however many, request a reading at most this often.
REFRESHED_EVERY = dt.timedelta(seconds=30)
_TOGETHER = 100


def follow(*, study_id: int, client: ProlificClient | None = None) -> int:
    """Read a study and all of its submissions and apply the changes; return how many.

    Safe to repeat and to run at the same time as anything else. Raises `ProlificError`; data read
    before the error is applied. A group whose study was deleted on Prolific does not keep the
    others from being read.
    """
    client = client or connect(study_id)
    study = Study.objects.get(pk=study_id)
    read, missing = 0, None
    for row in ProlificStudy.everything.filter(study=study, prolific_id__isnull=False):
        row.study = study
        try:
            mirror(row, client.study(str(row.prolific_id)))
            read += read_submissions(row, client)
        except NotFound as error:
            missing = error
    read += look_up_unlisted(study, client, refresh_submission)
    forget_withdrawn(study.pk)
    _ask_again(study, client)
    confirm_sent(study_id=study_id, client=client)
    _follow_account(study, client)
    # Read again soon, unless `polling` then decides to wait.
    Recruitment.objects.filter(study=study).update(
        checked_at=clock.now(), last_error="", read_next_at=None, quiet_reads=0
    )
    note_accepted(client)
    pause_full(study_id=study_id)
    if missing is not None:
        raise missing
    return read


def read_submissions(row: ProlificStudy, client: ProlificClient) -> int:
    """Read a study's submissions, its children's too, and apply them; return how many."""
    read = 0
    for remote_id in (str(row.prolific_id), *row.child_ids):
        before = clock.now()
        listed = iter(client.submissions(remote_id))
        while some := list(itertools.islice(listed, _TOGETHER)):
            for remote in _changed(row, some, read_at=before):
                apply(row, remote, read_at=before)
            read += len(some)
    return read


def _changed(
    row: ProlificStudy, listed: list[RemoteSubmission], *, read_at: dt.datetime
) -> list[RemoteSubmission]:
    """The submissions that differ from the stored ones; the others are only marked as read."""
    stored = ProlificSubmission.objects.filter(submission_id__in=[one.id for one in listed])
    known = {one.submission_id: one for one in stored.select_related("annotator")}
    unlinked = [one for one in listed if one.id in known and known[one.id].annotator is None]
    hashes = {one.id: identity_hashes(one.participant) for one in unlinked}
    entered = Annotator.objects.filter(
        study=row.study_id, identity_hash__in=[code for codes in hashes.values() for code in codes]
    )
    arrived = set(entered.values_list("identity_hash", flat=True)) if hashes else set()
    changed, same = [], []
    for remote in listed:
        one = known.get(remote.id)
        is_new = arrived.intersection(hashes.get(remote.id, ()))
        if one is None or is_new or _differs(row, one, remote) or _wants_move(row, one):
            changed.append(remote)
        else:
            same.append(one.pk)
    ProlificSubmission.objects.filter(Q(seen_at=None) | Q(seen_at__lt=read_at), pk__in=same).update(
        seen_at=read_at
    )
    return _without_erased(changed, known)


def _without_erased(
    changed: list[RemoteSubmission], known: dict[str, ProlificSubmission]
) -> list[RemoteSubmission]:
    """Without those whose ids were deleted here, of whom nothing is stored again."""
    replaced = {one.id: erased_ids(one.id) for one in changed if one.id not in known}
    words = [word for ids in replaced.values() for word in ids]
    stored = ProlificSubmission.objects.filter(submission_id__in=words) if words else []
    erased = {one.submission_id for one in stored}
    return [one for one in changed if erased.isdisjoint(replaced.get(one.id, ()))]


def _differs(row: ProlificStudy, one: ProlificSubmission, remote: RemoteSubmission) -> bool:
    seen = _seen(remote, read_at=one.seen_at)
    is_child = remote.study_id not in (row.prolific_id, *row.child_ids)
    return is_child or any(getattr(one, name) != value for name, value in seen.items())


def _follow_account(study: Study, client: ProlificClient) -> None:
    """Store the workspace's balance and the minimum hourly pay, read every few minutes.

    Both are advisory: a value that cannot be read is stored as a sentence and blocks nothing.
    What extras read with the account is read as often.
    """
    recruitment, _ = Recruitment.objects.get_or_create(study=study)
    if Account.of(recruitment.account).is_fresh:
        return
    try:
        workspace = workspace_of(recruitment, client).id
    except ProlificError as error:
        account = Account(balance_problem=str(error), read_at=clock.now().isoformat())
    else:
        account = read_account(client, study.currency, workspace)
    recruitment.account = account.stored()
    recruitment.save(update_fields=["account"])


def refresh_submission(submission_id: str, *, client: ProlificClient) -> bool:
    """Read a submission and apply it; False if it is unknown there or not ours.

    A new submission may not be found immediately; a later reading finds it.
    """
    read_at = clock.now()
    try:
        remote = client.submission(submission_id)
    except NotFound:
        return False
    row = study_of(remote)
    if row is None:
        return False
    apply(row, remote, read_at=read_at)
    return True


def study_of(remote: RemoteSubmission) -> ProlificStudy | None:
    """Our study that a submission belongs to: its own, or the parent of its child study."""
    ids = [remote_id for remote_id in (remote.parent_study_id, remote.study_id) if remote_id]
    return (
        ProlificStudy.everything.select_related("study").filter(prolific_id__in=ids).first()
        if ids
        else None
    )


@transaction.atomic
def _remember_child(row: ProlificStudy, child: str) -> None:
    row = ProlificStudy.everything.select_for_update(no_key=True, of=("self",)).get(pk=row.pk)
    if child and child not in row.child_ids:
        row.child_ids = [*row.child_ids, child]
        row.save(update_fields=["child_ids"])


def apply(
    row: ProlificStudy, remote: RemoteSubmission, *, read_at: dt.datetime
) -> ProlificSubmission:
    """Store Prolific's data on a submission and update the annotator's part.

    Older data never replaces data that was read later, in whatever order they arrive. Nothing is
    stored about a person who was deleted.
    """
    erased = ProlificSubmission.objects.filter(submission_id__in=erased_ids(remote.id)).first()
    if erased is not None:
        return erased
    if remote.study_id not in (row.prolific_id, *row.child_ids):
        _remember_child(row, remote.study_id)
    submission = _store(row, remote, read_at)
    is_first_part = not row.is_follow_up
    if is_first_part and submission.seen_at == read_at and _is_latest(submission):
        _move(submission)
    return submission


def _store(
    row: ProlificStudy, remote: RemoteSubmission, read_at: dt.datetime
) -> ProlificSubmission:
    seen = _seen(remote, read_at=read_at)
    submission, created = ProlificSubmission.objects.get_or_create(
        submission_id=remote.id,
        defaults={**seen, "prolific_study": row, "annotator": _annotator(row, remote)},
    )
    if not created:
        was_approved = submission.status == types.APPROVED
        # Conditional, so that the later of two readings stays.
        ProlificSubmission.objects.filter(
            Q(seen_at=None) | Q(seen_at__lt=read_at), pk=submission.pk
        ).update(**seen)
        submission.refresh_from_db()
        if was_approved and submission.status != types.APPROVED and submission.annotator:
            # Whether an approval was paid is not seen in a later status.
            AnnotatorEvent.objects.create(
                annotator=submission.annotator,
                event=AnnotatorEvent.WAS_APPROVED,
                detail={"submission": submission.pk, "status": submission.status},
            )
    is_newly_known = created and submission.annotator_id is not None
    if submission.annotator_id is None and (annotator := _annotator(row, remote)):
        submission.annotator = annotator
        submission.save(update_fields=["annotator"])
        is_newly_known = True
    if is_newly_known and submission.annotator_id is not None:
        services.confirm(annotator_id=submission.annotator_id)
    return submission


def _seen(remote: RemoteSubmission, *, read_at: dt.datetime | None) -> dict[str, Any]:
    """What is stored of a submission."""
    seen: dict[str, Any] = {
        "participant": remote.participant,
        "status": remote.status,
        "code": remote.code[:200],
        "started_at": remote.started_at,
        "completed_at": remote.completed_at,
        "return_requested_at": remote.return_requested,
        "seen_at": read_at,
    }
    if "bonus_payments" in remote.payload:
        seen["bonuses"] = list(remote.bonuses)
    return seen


def _annotator(row: ProlificStudy, remote: RemoteSubmission) -> Annotator | None:
    """The annotator with the participant's id; None if they never opened the study."""
    return Annotator.objects.filter(
        study=row.study_id, identity_hash__in=identity_hashes(remote.participant)
    ).first()


def _is_latest(submission: ProlificSubmission) -> bool:
    """Whether this is the participant's latest submission: earlier ones are no longer relevant."""
    newest = (
        ProlificSubmission.objects.filter(
            annotator=submission.annotator_id, prolific_study__is_follow_up=False
        )
        .order_by("-started_at", "-pk")
        .values_list("pk", flat=True)
        .first()
    )
    return newest == submission.pk


def _move(submission: ProlificSubmission) -> None:
    """Update the annotator's part; a change that does not fit their state is ignored.

    Participants who left on Prolific may continue here, so a return or time-out is applied once.
    """
    annotator_id, status = submission.annotator_id, submission.status
    if annotator_id is None:
        return
    if status in LEFT and submission.followed == status:
        return
    state = Annotator.objects.values_list("state", flat=True).get(pk=annotator_id)
    try:
        if move := _move_for(status, state):
            move(annotator_id=annotator_id)
    except (WrongStep, Unfinished) as error:
        # Their part ended differently here, or is incomplete: the settlement shows both.
        logger.info("submission %s is %s: %s", submission.pk, status, error)
    # Stored last: after a crash before this line, the next reading applies it.
    ProlificSubmission.objects.filter(pk=submission.pk).update(followed=status)


def _move_for(status: str, state: str) -> Callable[..., Annotator] | None:
    """The service that a submission's status calls for; None if the state already fits."""
    if _gives_up_place(status, state):
        return services.mark_returned
    if status == types.TIMED_OUT and state in flow.ACTIVE:
        return services.time_out
    if status == types.REJECTED and state != State.REJECTED:
        return services.reject
    if status == types.APPROVED and state == State.REJECTED:
        return services.reinstate
    came_back = status in (types.AWAITING_REVIEW, types.APPROVED)
    if came_back and state in (State.ANNOTATING, State.TIMED_OUT, State.RETURNED):
        return services.complete
    return None


def _wants_move(row: ProlificStudy, submission: ProlificSubmission) -> bool:
    """Whether `_move` must still run, because it was interrupted or failed."""
    if row.is_follow_up or submission.annotator is None:
        return False
    if submission.followed != submission.status:
        return True
    if submission.status in LEFT:
        return False
    return _move_for(submission.status, submission.annotator.state) is not None


def _gives_up_place(status: str, state: str) -> bool:
    """Whether to free the participant's seats and group place: Prolific gave their place away.

    If a part was paid, complete work here keeps its seats: the answers exist.
    """
    if status == types.PARTIALLY_APPROVED:
        return state in flow.ACTIVE
    return status in (types.RETURNED, types.SCREENED_OUT) and state != State.RETURNED


def _ask_again(study: Study, client: ProlificClient) -> None:
    """Request approvals again that a researcher confirmed but Prolific does not show.

    One that Prolific refuses is left to the researcher: it must not stop every later reading.
    """
    waiting = list(
        ProlificSubmission.objects.filter(
            clock.long_ago("approval_asked_at", _ASK_AGAIN),
            prolific_study__study=study,
            status=types.AWAITING_REVIEW,
        )[:MAX_BULK_APPROVE]
    )
    if waiting:
        with suppress(ProlificRejected, NotFound, Unauthorized), forgotten_if_refused(waiting):
            client.approve([submission.submission_id for submission in waiting])


@contextmanager
def forgotten_if_refused(asked: Sequence[ProlificSubmission]) -> Iterator[None]:
    """Forget the request to approve these submissions if Prolific refuses it.

    A lost one is sent again.
    """
    try:
        yield
    except (ProlificRejected, NotFound, Unauthorized) as error:
        ProlificSubmission.objects.filter(
            pk__in=[submission.pk for submission in asked], status=types.AWAITING_REVIEW
        ).update(approval_asked_at=None)
        record(asked[0].prolific_study.study, "approvals refused by Prolific", people=len(asked))
        logger.warning("%s approvals were refused: %s", len(asked), error)
        raise
