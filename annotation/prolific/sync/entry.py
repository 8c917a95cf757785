"""Check that a link belongs to the participant who opens it: anyone can edit a link."""

import enum
import logging
from collections.abc import Mapping

from django.core.cache import cache
from django.db.models import F, Sum

from annotation import services
from annotation.errors import EntryRefused
from annotation.models import (
    Annotator,
    ProlificIdentity,
    ProlificSubmission,
    QuotaGroup,
    Recruitment,
)
from annotation.prolific.api import signed_url, types
from annotation.prolific.api.errors import NotFound, ProlificError
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.sync.session_lookups import is_watched, page_client
from annotation.prolific.sync.sync import REFRESHED_EVERY, apply, study_of
from annotation.seats.flow import ACTIVE
from annotation.seats.platform_status import LEFT
from studies.models import Item, Study
from studies.statements import clock

logger = logging.getLogger(__name__)
_OVER = LEFT | {types.REJECTED, types.APPROVED}


class EntryVerification(enum.Enum):
    """The facts known about a link when it is opened."""

    SIGNED = "signed by Prolific"
    UNKNOWN = "of a session that Prolific does not know"
    KNOWN = "of a session that Prolific gave to this participant"
    NOTHING = "nothing new"

    @property
    def vouches(self) -> bool:
        """Whether Prolific says that the link belongs to the participant."""
        return self in (EntryVerification.SIGNED, EntryVerification.KNOWN)


def verify_entry(study: Study, query: Mapping[str, str]) -> EntryVerification:
    """Compare PROLIFIC_PID with the submission that SESSION_ID names.

    A link that Prolific has signed proves itself. If the study requires signed links, no other
    link lets a new participant in. Otherwise Prolific is asked once for each session, if the study
    was launched from here. If Prolific does not answer, or does not know the submission yet, the
    participant may enter; the result says which, and the synchronisation every minute finds the
    rest. Raises `EntryRefused`.
    """
    pid, session = query.get("PROLIFIC_PID", ""), query.get("SESSION_ID", "")
    if not pid or not is_watched(study):
        return EntryVerification.NOTHING
    if not session:
        raise EntryRefused("SESSION_ID is missing")
    mirrored = ProlificSubmission.objects.filter(submission_id=session).first()
    if mirrored is not None and (
        mirrored.participant != pid or mirrored.prolific_study.study_id != study.pk
    ):
        raise EntryRefused("SESSION_ID is somebody else's")
    if _has_entered(study, pid, session):
        return EntryVerification.NOTHING if mirrored is None else EntryVerification.KNOWN
    is_signed = _is_signed(query)
    if not is_signed and _wants_signed(study) and not query.get("prolific_token"):
        raise EntryRefused("the study takes signed links only")
    if mirrored is None and not is_signed:
        return _ask(study, pid, session)
    return EntryVerification.SIGNED if is_signed else EntryVerification.KNOWN


def wants_refresh(study: Study) -> bool:
    """Whether to read who has left on Prolific, so that their seats and places are free again.

    Only if few seats or group places are left, and once for all who arrive within half a minute.
    """
    if not is_watched(study) or not _is_short(study):
        return False
    return cache.add(f"prolific-refresh-{study.pk}", True, REFRESHED_EVERY.total_seconds())


def verify_return(study: Study, query: Mapping[str, str]) -> bool:
    """Compare PROLIFIC_PID with the submission of the study that brings people back.

    That study was created on Prolific by hand, so only its submissions are known there. If Prolific
    does not answer, or does not know the session yet, nobody is refused; returns whether it knows
    the session as the participant's. Raises `EntryRefused`.
    """
    if not is_watched(study):
        return False
    pid, session = query.get("PROLIFIC_PID", ""), query.get("SESSION_ID", "")
    if not session:
        raise EntryRefused("SESSION_ID is missing")
    try:
        with page_client() as client:
            remote = client.submission(session)
    except ProlificError as error:
        logger.info("study %s: a submission could not be looked up: %s", study.pk, error)
        return False
    if remote.participant != pid:
        raise EntryRefused("SESSION_ID is somebody else's")
    return True


def note_entry(annotator: Annotator, verification: EntryVerification) -> None:
    """Store the facts about the link with a new annotator."""
    if verification == EntryVerification.SIGNED:
        services.note_signed(annotator_id=annotator.pk)
    elif verification == EntryVerification.UNKNOWN:
        services.doubt(annotator_id=annotator.pk)


def _wants_signed(study: Study) -> bool:
    recruitment = Recruitment.objects.filter(study=study).first()
    return recruitment is not None and LaunchPlan.of(recruitment.plan).signed_links


def _is_signed(query: Mapping[str, str]) -> bool:
    """Whether Prolific has signed this link; False where it signs none or no key can be read."""
    token = query.get("prolific_token", "")
    if not token:
        return False
    try:
        signed_url.check(token, query=query)
    except signed_url.BadToken as error:
        raise EntryRefused(f"the signed link: {error}") from None
    except signed_url.KeysUnavailable as error:
        logger.warning("the keys of signed links: %s", error)
        return False
    return True


def _has_entered(study: Study, pid: str, session: str) -> bool:
    identity = ProlificIdentity.objects.filter(annotator__study=study, pid=pid).first()
    return identity is not None and session in identity.session_ids


def _ask(study: Study, pid: str, session: str) -> EntryVerification:
    read_at = clock.now()
    try:
        with page_client() as client:
            remote = client.submission(session)
    except NotFound:
        return EntryVerification.UNKNOWN
    except ProlificError as error:
        logger.info("study %s: a submission could not be looked up at entry: %s", study.pk, error)
        return EntryVerification.NOTHING
    row = study_of(remote)
    if row is None or row.study_id != study.pk or remote.participant != pid:
        raise EntryRefused("SESSION_ID is somebody else's, or of another study")
    if remote.status in _OVER:
        raise EntryRefused("the submission is over on Prolific")
    apply(row, remote, read_at=read_at)
    return EntryVerification.KNOWN


def _is_short(study: Study) -> bool:
    """Whether one more annotator might find no seats or a full group, as far as is known here.

    Annotators who have started but have no seats or place yet will take theirs first.
    """
    under_way = Annotator.objects.filter(study=study, state__in=ACTIVE)
    without_seats = under_way.filter(assignments=None, works_surplus=False).count()
    open_items = Item.objects.filter(study=study, seats_taken__lt=F("seats_needed"))
    seats = open_items.aggregate(n=Sum(F("seats_needed") - F("seats_taken")))["n"] or 0
    if seats < (without_seats + 1) * study.items_per_annotator:
        return True
    unasked = under_way.filter(screened_at=None).count()
    return QuotaGroup.objects.filter(
        study=study, target__gt=0, target__lte=F("reserved") + F("completed") + unasked
    ).exists()
