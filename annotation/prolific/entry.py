"""Whether somebody who opens the link is who the link says: a link can be edited by anybody."""

import logging
from collections.abc import Mapping

import requests
from django.conf import settings
from django.db.models import F, Sum
from django.utils import timezone

from annotation.errors import EntryRefused
from annotation.flow import ACTIVE
from annotation.models import (
    Annotator,
    ProlificIdentity,
    ProlificStudy,
    ProlificSubmission,
    QuotaCell,
)
from annotation.prolific import signed_url, types
from annotation.prolific.client import Client
from annotation.prolific.errors import ProlificError
from annotation.prolific.sync import apply, read_submissions, study_of
from studies.models import Item, Study

logger = logging.getLogger(__name__)
_OVER = {types.RETURNED, types.TIMED_OUT, types.REJECTED, types.APPROVED, types.SCREENED_OUT}
# Somebody is waiting for the page.
_SECONDS = 4.0


def verify_entry(study: Study, query: Mapping[str, str]) -> None:
    """Compare PROLIFIC_PID with the submission that SESSION_ID names.

    A link that Prolific has signed says so by itself. Otherwise it is asked of Prolific once a
    session, and only where the study was launched from here. When Prolific cannot be read, or
    does not know so fresh a submission yet, the person is let in: the look that comes every
    minute finds the rest. Where seats or group places run short, whoever has left there gives
    theirs back first: the newcomer may stand in for them. Raises `EntryRefused`.
    """
    pid, session = query.get("PROLIFIC_PID", ""), query.get("SESSION_ID", "")
    if not settings.PROLIFIC_API_TOKEN or not pid:
        return
    if not ProlificStudy.objects.filter(study=study, prolific_id__isnull=False).exists():
        return
    if not session:
        raise EntryRefused("SESSION_ID is missing")
    mirrored = ProlificSubmission.objects.filter(submission_id=session).first()
    if mirrored is not None and (
        mirrored.participant != pid or mirrored.prolific_study.study_id != study.pk
    ):
        raise EntryRefused("SESSION_ID is somebody else's")
    if _has_entered(study, pid, session):
        return
    client = Client(
        base_url=settings.PROLIFIC_BASE_URL,
        token=settings.PROLIFIC_API_TOKEN,
        patience=0.0,
        timeout=_SECONDS,
    )
    if mirrored is None and not _is_signed(query):
        _ask(study, pid, session, client)
    if _is_short(study):
        _follow_who_left(study, client)


def _is_signed(query: Mapping[str, str]) -> bool:
    """Whether Prolific has signed this link; False where it signs none or no key can be read."""
    token = query.get("prolific_token", "")
    if not token:
        return False
    try:
        signed_url.check(token, query=query)
    except signed_url.BadToken as error:
        raise EntryRefused(f"the signed link: {error}") from None
    except (requests.RequestException, ValueError, KeyError, AttributeError) as error:
        logger.warning("the keys of signed links cannot be read: %s", type(error).__name__)
        return False
    return True


def _has_entered(study: Study, pid: str, session: str) -> bool:
    identity = ProlificIdentity.objects.filter(annotator__study=study, pid=pid).first()
    return identity is not None and session in identity.session_ids


def _ask(study: Study, pid: str, session: str, client: Client) -> None:
    read_at = timezone.now()
    try:
        remote = client.submission(session)
    except ProlificError as error:
        logger.info("study %s: a submission could not be looked up at entry: %s", study.pk, error)
        return
    row = study_of(remote)
    if row is None or row.study_id != study.pk or remote.participant != pid:
        raise EntryRefused("SESSION_ID is somebody else's, or of another study")
    if remote.status in _OVER:
        raise EntryRefused("the submission is over on Prolific")
    apply(row, remote, read_at=read_at)


def _is_short(study: Study) -> bool:
    """Whether one more person might find no seats or a full group, as far as is known here.

    Those who have come so far as to get neither yet will take theirs first.
    """
    under_way = Annotator.objects.filter(study=study, state__in=ACTIVE)
    without_seats = under_way.filter(assignments=None, works_surplus=False).count()
    open_items = Item.objects.filter(study=study, seats_taken__lt=F("seats_needed"))
    seats = open_items.aggregate(n=Sum(F("seats_needed") - F("seats_taken")))["n"] or 0
    if seats < (without_seats + 1) * study.items_per_annotator:
        return True
    unasked = under_way.filter(screened_at=None).count()
    return QuotaCell.objects.filter(
        study=study, target__gt=0, target__lte=F("reserved") + F("completed") + unasked
    ).exists()


def _follow_who_left(study: Study, client: Client) -> None:
    """Read who has gone, so that what they held is free before it is given out."""
    try:
        for row in ProlificStudy.objects.filter(study=study, prolific_id__isnull=False):
            read_submissions(row, client)
    except ProlificError as error:
        logger.info("study %s: who has left could not be read at entry: %s", study.pk, error)
