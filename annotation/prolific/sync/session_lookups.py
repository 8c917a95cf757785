"""Look up sessions of opened links that are in none of Prolific's lists."""

import datetime as dt
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db.models import Q

from annotation.models import Annotator, ProlificIdentity, ProlificStudy, ProlificSubmission
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.errors import ProlificError, ProlificUnreachable
from annotation.seats.platform_status import is_doubtful
from annotation.services.admission.confirmation import confirm, doubt
from studies.models import Study
from studies.statements import clock

logger = logging.getLogger(__name__)

# Looks up one session and applies it; False if Prolific does not know it.
Refresh = Callable[..., bool]

# After this time a submission is not looked for any more: the participant has left.
_LOOKED_FOR = dt.timedelta(days=2)
_FIRST_WAIT = dt.timedelta(minutes=1)
_LONGEST_WAIT = dt.timedelta(hours=6)
# The shortest wait between two requests to Prolific for a page that is loaded repeatedly.
_PAGE_WAIT = dt.timedelta(seconds=20)
# Short, because a participant is waiting for the page.
PAGE_SECONDS = 4.0
# Of the threads of a web process, which has eight.
MOST_ASKING = 3
_asking = threading.BoundedSemaphore(MOST_ASKING)


@contextmanager
def page_client() -> Iterator[ProlificClient]:
    """A client that gives up soon, for a page that a participant is waiting for.

    Raises `Unreachable` while as many others ask: most threads answer those who are in mid-work,
    and the synchronisation every minute looks up what was not asked here.
    """
    if not _asking.acquire(blocking=False):
        raise ProlificUnreachable("As many others are asking Prolific as may at once.")
    try:
        yield ProlificClient(
            base_url=settings.PROLIFIC_BASE_URL,
            token=settings.PROLIFIC_API_TOKEN,
            patience=0.0,
            timeout=PAGE_SECONDS,
        )
    finally:
        _asking.release()


def is_watched(study: Study) -> bool:
    """Whether a study's participants can be looked up: it was launched from here."""
    launched = ProlificStudy.objects.filter(study=study, prolific_id__isnull=False)
    return bool(settings.PROLIFIC_API_TOKEN) and launched.exists()


def look_up_unlisted(study: Study, client: ProlificClient, refresh: Refresh) -> int:
    """Look up annotators who are in no list, less and less often; return how many were found.

    This also finds participants of a quota study, whose submissions may belong to a child of it.
    """
    listed = ProlificSubmission.objects.filter(prolific_study__study=study)
    known = set(listed.values_list("submission_id", flat=True))
    confirmed = set(listed.values_list("annotator", flat=True))
    now = clock.now()
    recent = ProlificIdentity.objects.filter(
        annotator__study=study, annotator__created_at__gt=now - _LOOKED_FOR
    )
    found = 0
    for identity in recent:
        if identity.annotator_id in confirmed and identity.unknown_since is not None:
            confirm(annotator_id=identity.annotator_id)
        unlisted = [session for session in identity.session_ids if session not in known]
        is_unclear = bool(identity.session_ids) and identity.annotator_id not in confirmed
        if (unlisted or is_unclear) and is_due(identity, now):
            found += _look(identity, client, refresh, unlisted)
    return found


def is_due(identity: ProlificIdentity, now: dt.datetime) -> bool:
    """Whether it is time for the next look-up: after 1, 2, 4, 8 and so on minutes."""
    if identity.looked_at is None:
        return True
    wait = min(_FIRST_WAIT * 2 ** min(max(0, identity.looks - 1), 12), _LONGEST_WAIT)
    # Slightly less, so that the look-up once a minute meets it.
    return now >= identity.looked_at + wait - dt.timedelta(seconds=5)


def _look(
    identity: ProlificIdentity, client: ProlificClient, refresh: Refresh, sessions: list[str]
) -> int:
    """Look up an annotator's sessions; an annotator who is not found is in doubt from then on."""
    found = sum(refresh(session, client=client) for session in sessions)
    person = ProlificIdentity.objects.filter(pk=identity.pk)
    if ProlificSubmission.objects.filter(annotator=identity.annotator_id).exists():
        # A further session of a known annotator.
        person.update(looked_at=clock.now(), looks=identity.looks + 1)
    else:
        doubt(annotator_id=identity.annotator_id)
    return found


def is_confirmed(annotator: Annotator, refresh: Refresh) -> bool:
    """Whether a completion code may be shown: Prolific does not say that the annotator is unknown.

    An annotator who is in no list yet is looked up now. When Prolific cannot be read, its outage
    does not affect annotators who were never unknown.
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
    now = clock.now()
    claimed = ProlificIdentity.objects.filter(
        Q(looked_at=None) | clock.long_ago("looked_at", _PAGE_WAIT), pk=identity.pk
    ).update(looked_at=now)
    if claimed:
        try:
            with page_client() as client:
                _look(identity, client, refresh, identity.session_ids)
        except ProlificError as error:
            logger.info("annotator %s could not be looked up: %s", annotator.pk, error)
    return not is_doubtful(annotator)


def _is_vouched_for(identity: ProlificIdentity) -> bool:
    return (
        identity.is_signed
        or ProlificSubmission.objects.filter(annotator=identity.annotator_id).exists()
    )
