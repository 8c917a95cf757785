"""Polling: which studies are read again, how soon, and by one worker at a time.

Where webhooks reach us, reading again is a safety net. Without them, an active study is read every
minute while people work on it, and less and less often while nothing changes. A webhook that got
lost shows as a change that only the reading found: the study is then read again in a minute.
"""

import datetime as dt
import logging

from django.db.models import Count, Q, QuerySet

from annotation.models import (
    Annotator,
    BonusPayment,
    ProlificStudy,
    ProlificSubmission,
    Recruitment,
)
from annotation.prolific.api import types
from annotation.prolific.api.accounts import note_refusal
from annotation.prolific.api.claims import reading
from annotation.prolific.api.client import (
    IN_WORKER,
    ProlificClient,
    client_with,
    connect,
    is_local,
)
from annotation.prolific.api.credentials import Credentials, credentials_of, knows_secret
from annotation.prolific.api.transport import (
    NotAllowed,
    ProlificError,
    ProlificRateLimited,
    Unauthorized,
)
from annotation.prolific.sync.sync import REFRESHED_EVERY, follow, with_account
from annotation.seats import flow
from annotation.services.identities import with_ids
from studies.statements import clock

logger = logging.getLogger(__name__)

SOON, SAFETY_NET = dt.timedelta(minutes=1), dt.timedelta(minutes=10)
# The longest wait for a study in which something can happen, and for others.
_LONGEST, _AT_REST = dt.timedelta(minutes=10), dt.timedelta(hours=1)
_HAPPENING = {types.ACTIVE, "PUBLISHING", types.SCHEDULED}
_MOST_QUIET = 12
# Studies launched longer ago rarely change, so they are read less often.
OLD_AFTER = dt.timedelta(days=60)
_OLD_READ_EVERY = _REFUSED_READ_EVERY = dt.timedelta(hours=1)


def follow_all() -> int:
    """Read every recruitment that is due; return the number of studies read.

    An error in one study does not stop the others. If Prolific refuses a token, only the studies
    with that account wait. A study that another worker is reading is left to that worker.
    """
    due = _due(with_account(ProlificStudy.everything.all()))
    clients: dict[Credentials, ProlificClient] = {}
    followed = 0
    for study_id in sorted(set(due.values_list("study", flat=True))):
        # Read again, because the study before it may have found that Prolific refuses the token.
        if not due.filter(study=study_id).exists():
            continue
        try:
            credentials = credentials_of(study_id)
            if credentials not in clients:
                clients[credentials] = client_with(credentials, patience=IN_WORKER)
            followed += _poll(study_id, clients[credentials])
        except ProlificError as error:
            _note_failure(study_id, error)
    return followed


def refresh(*, study_id: int) -> bool:
    """Read a study for all new arrivals, at most twice a minute; return whether it was read."""
    now = clock.now()
    recruitment = Recruitment.objects.filter(study=study_id)
    before = recruitment.values_list("checked_at", flat=True).first()
    is_due = Q(checked_at=None) | clock.long_ago("checked_at", REFRESHED_EVERY)
    # Claimed first, so that only one of several workers reads it.
    if not recruitment.filter(is_due).update(checked_at=now):
        return False
    try:
        return _poll(study_id, connect(study_id, patience=IN_WORKER))
    except ProlificError as error:
        recruitment.update(checked_at=before)
        _note_failure(study_id, error)
    return True


def _poll(study_id: int, client: ProlificClient) -> bool:
    """Read a study, and decide when to read it again; False if another worker is reading it."""
    recruitment, _ = Recruitment.objects.get_or_create(study_id=study_id)
    try:
        with reading(study_id, client):
            before = _known(study_id)
            follow(study_id=study_id, client=client)
            has_changed = bool(recruitment.last_error) or _known(study_id) != before
    except NotAllowed as error:
        logger.info("study %s: %s", study_id, error)
        return False
    _plan_next(Recruitment.objects.get(pk=recruitment.pk), recruitment.quiet_reads, has_changed)
    return True


def _known(study_id: int) -> list[list[tuple[object, ...]]]:
    """What Prolific says of a study: different after a reading that found something new."""
    rows = ProlificStudy.everything.filter(study=study_id)
    submissions = ProlificSubmission.objects.filter(prolific_study__in=rows)
    return [
        list(rows.values_list("pk", "status", "places")),
        list(submissions.order_by("status").values_list("status").annotate(n=Count("pk"))),
    ]


def _plan_next(recruitment: Recruitment, quiet: int, has_changed: bool) -> None:
    study_id = recruitment.study_id
    rows = ProlificStudy.everything.filter(study=study_id)
    is_happening = rows.filter(status__in=_HAPPENING).exists()
    has_webhooks = bool(recruitment.webhooks_at) and knows_secret(recruitment)
    is_busy = _waits(study_id) or (is_happening and not has_webhooks and _at_work(study_id))
    quiet = 0 if has_changed or is_busy else min(quiet + 1, _MOST_QUIET)
    wait = SOON * 2**quiet
    if has_webhooks and quiet:
        wait = SAFETY_NET * 2 ** (quiet - 1)
    wait = min(wait, _LONGEST if is_happening else _AT_REST)
    _set_next(study_id, quiet, wait)


def _set_next(study_id: int, quiet: int, wait: dt.timedelta) -> None:
    # Slightly less, so that the run once a minute does not just miss it.
    due = clock.now() + wait - dt.timedelta(seconds=5)
    Recruitment.objects.filter(study=study_id).update(quiet_reads=quiet, read_next_at=due)


def _waits(study_id: int) -> bool:
    """Whether Prolific still has to show what was asked for, or who somebody at work is."""
    approvals = ProlificSubmission.objects.filter(
        prolific_study__study=study_id,
        status=types.AWAITING_REVIEW,
        approval_asked_at__isnull=False,
    )
    payments = BonusPayment.objects.filter(
        prolific_study__study=study_id, state=BonusPayment.State.SENT
    )
    unlisted = _working(study_id).filter(prolific_identity__isnull=False, prolific_submissions=None)
    return approvals.exists() or payments.exists() or unlisted.exists()


def _working(study_id: int) -> QuerySet[Annotator]:
    return Annotator.objects.filter(study=study_id, state__in=flow.ACTIVE)


def _at_work(study_id: int) -> bool:
    return _working(study_id).exists()


def _note_failure(study_id: int, error: ProlificError) -> None:
    """Store a failure, and wait longer after each one; as long as Prolific asks for."""
    recruitment = Recruitment.objects.filter(study=study_id)
    quiet = recruitment.values_list("quiet_reads", flat=True).first() or 0
    recruitment.update(last_error=str(error))
    wait = min(SOON * 2**quiet, _LONGEST)
    if isinstance(error, ProlificRateLimited) and error.retry_after is not None:
        wait = max(wait, min(dt.timedelta(seconds=error.retry_after), _AT_REST))
    _set_next(study_id, min(quiet + 1, _MOST_QUIET), wait)
    logger.warning("study %s: Prolific could not be read: %s", study_id, error)
    if isinstance(error, Unauthorized):
        note_refusal(study_id)


def _due(rows: "QuerySet[ProlificStudy]") -> "QuerySet[ProlificStudy]":
    """The studies to read now; completed ones only until their submissions are settled.

    Old ones are read once an hour, and so are those whose token Prolific refuses. A simulated study
    is read only from a simulated Prolific.
    """
    if not is_local():
        rows = rows.filter(study__is_simulated=False)
    refused = "study__recruitment__prolific_account__refused_at"
    rows = rows.filter(Q(**{refused: None}) | clock.long_ago(refused, _REFUSED_READ_EVERY))
    planned = "study__recruitment__read_next_at"
    rows = rows.filter(Q(**{planned: None}) | clock.has_ended(planned, _AT_REST))
    unsettled = with_ids(
        ProlificSubmission.objects.exclude(status__in=ProlificSubmission.FINAL)
    ).values("prolific_study")
    now = clock.now()
    due = Q(seen_at=None) | Q(created_at__gt=now - OLD_AFTER)
    due |= clock.long_ago("seen_at", _OLD_READ_EVERY)
    return rows.filter(due & (~Q(status=types.COMPLETED) | Q(pk__in=unsettled)))
