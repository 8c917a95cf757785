"""Check that a link belongs to the participant who opens it, because anyone can edit a link.

Some workspaces send `prolific_token`, a JWT signed with RS256 under one of Prolific's published
keys. PyJWT verifies it; it accepts no other algorithm and no key shorter than 2048 bits.
"""

import enum
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from django.conf import settings
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
from annotation.prolific.api import types
from annotation.prolific.api.transport import NotFound, ProlificError, api_base
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.sync.sync import REFRESHED_EVERY, apply, is_watched, page_client, study_of
from annotation.seats.assignment import LEFT
from annotation.seats.flow import ACTIVE
from annotation.services.identities import identity_hashes
from studies.models import Item, Study
from studies.statements import clock

if TYPE_CHECKING:
    from jwt import PyJWK


ISSUER = "https://www.prolific.com"
_ALGORITHM = "RS256"
_PATH = "/.well-known/study/jwks.json"
_KEYS, _KEPT_FOR = "prolific-jwk-set", 12 * 3600
# An unknown key id makes us read the published keys again, at most once in this time.
_READ_AGAIN_AFTER = 60
# Clocks differ a little; the token is valid for two minutes.
_LEEWAY = 30
_LONGEST = 8000


class BadToken(ValueError):
    """The token is forged, for another study or participant, or too old."""


class KeysUnavailable(Exception):
    """Prolific's published keys cannot be read."""


def check_token(token: str, *, query: Mapping[str, str]) -> None:
    """Check that Prolific has signed this link for these ids.

    Raises `BadToken`, or `KeysUnavailable` if the keys cannot be read.
    """
    claims = _verified_claims(token, session=query.get("SESSION_ID", ""))
    own = urlsplit(settings.PUBLIC_BASE_URL).hostname
    audience = claims["aud"]
    audiences = audience if isinstance(audience, list) else [audience]
    if own not in {urlsplit(str(url)).hostname for url in audiences}:
        raise BadToken("the token is for another site")
    signed = claims.get("prolific")
    for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"):
        if not isinstance(signed, dict) or signed.get(name) != query.get(name):
            raise BadToken(f"{name} is not the one that Prolific signed")


def _verified_claims(token: str, *, session: str) -> dict[str, Any]:
    """The claims of the token, once signature, time, issuer and session are verified."""
    import jwt  # Here, because it loads the cryptography library.
    from jwt.exceptions import InvalidSubjectError

    if len(token) > _LONGEST:
        raise BadToken("the token is too long")
    decoder = jwt.PyJWT({"enforce_minimum_key_length": True})
    try:
        key = _key(str(jwt.get_unverified_header(token).get("kid") or ""))
        return decoder.decode(
            token,
            key,
            algorithms=[_ALGORITHM],
            issuer=ISSUER,
            subject=session,
            leeway=_LEEWAY,
            # The audience is the whole link, whose host `check_token` compares. The time of issue
            # is not verified, because Prolific's clock may be ahead of ours without harm.
            options={
                "require": ["exp", "iss", "aud", "sub"],
                "verify_aud": False,
                "verify_iat": False,
            },
        )
    except jwt.ExpiredSignatureError:
        raise BadToken("the token has expired") from None
    except jwt.InvalidIssuerError:
        raise BadToken("the token is not from Prolific") from None
    except InvalidSubjectError:
        raise BadToken("the token is for another session") from None
    except jwt.MissingRequiredClaimError as error:
        raise BadToken(f"the token does not state “{error.claim}”") from None
    except jwt.InvalidSignatureError:
        raise BadToken("the signature is not Prolific's") from None
    except jwt.InvalidAlgorithmError:
        raise BadToken(f"the algorithm is not {_ALGORITHM}") from None
    except jwt.PyJWTError:
        raise BadToken("the token cannot be read") from None


def _key(kid: str) -> "PyJWK":
    """The published key with this id; an unknown id makes us read the keys again."""
    import jwt

    rows = cache.get(_KEYS)
    known = {row.get("kid") for row in rows or []}
    if rows is None or (kid not in known and cache.add(f"{_KEYS}-read", True, _READ_AGAIN_AFTER)):
        rows = _read_keys()
        cache.set(_KEYS, rows, _KEPT_FOR)
    try:
        return jwt.PyJWKSet(rows)[kid]
    except (KeyError, jwt.PyJWKSetError):
        raise BadToken("no published key of Prolific has the token's key id") from None


def _read_keys() -> list[dict[str, Any]]:
    import requests

    parts = urlsplit(api_base(settings.PROLIFIC_BASE_URL))
    url = f"{parts.scheme}://{parts.netloc}{_PATH}"
    try:
        answer = requests.get(url, timeout=4, allow_redirects=False)
        answer.raise_for_status()
        rows = answer.json().get("keys", [])
    except (requests.RequestException, ValueError, AttributeError) as error:
        raise KeysUnavailable(f"{url} cannot be read.") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise KeysUnavailable(f"{url} has no list of keys")
    return rows


logger = logging.getLogger(__name__)
_OVER = LEFT | {types.REJECTED, types.APPROVED}
# The log event of a test study; its detail `test` is the id there.
TEST_STUDY = "test study on Prolific"


class EntryVerification(enum.Enum):
    """What is known about a link when it is opened."""

    SIGNED = "signed by Prolific"
    UNKNOWN = "of a session that Prolific does not know"
    KNOWN = "of a session that Prolific gave to this participant"
    TEST = "of a researcher's test study"
    NOTHING = "nothing new"
    UNWATCHED = "of a study that was not launched from here"

    @property
    def vouches(self) -> bool:
        """Whether Prolific confirms that the link belongs to the participant."""
        return self in (
            EntryVerification.SIGNED,
            EntryVerification.KNOWN,
            EntryVerification.TEST,
        )


def verify_entry(study: Study, query: Mapping[str, str]) -> EntryVerification:
    """Compare PROLIFIC_PID with the submission that SESSION_ID names.

    A link signed by Prolific is proof. If the study requires signed links, no other link lets a new
    participant in. Otherwise Prolific is asked once per session, if the study was launched from
    here. If Prolific does not answer, or does not know the submission yet, the participant may
    enter; the result says which, and the synchronisation every minute follows up. Raises
    `EntryRefused`.
    """
    pid, session = query.get("PROLIFIC_PID", ""), query.get("SESSION_ID", "")
    if not pid or not is_watched(study):
        return EntryVerification.UNWATCHED
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
    """Whether to check now who has left a watched study on Prolific, to free seats and places.

    Only if few seats or group places are left, and once for everybody within half a minute.
    """
    if not _is_short(study):
        return False
    return cache.add(f"prolific-refresh-{study.pk}", True, REFRESHED_EVERY.total_seconds())


def note_entry(annotator: Annotator, verification: EntryVerification) -> None:
    """Store what is known about the link with a new annotator."""
    if verification == EntryVerification.SIGNED:
        services.note_signed(annotator_id=annotator.pk)
    elif verification == EntryVerification.UNKNOWN:
        services.doubt(annotator_id=annotator.pk)
    elif verification == EntryVerification.TEST:
        services.admit_tester(annotator_id=annotator.pk)


def _wants_signed(study: Study) -> bool:
    recruitment = Recruitment.objects.filter(study=study).first()
    return recruitment is not None and LaunchPlan.of(recruitment.plan).signed_links


def _is_signed(query: Mapping[str, str]) -> bool:
    """Whether Prolific has signed this link; False if it signs none or no key can be read."""
    token = query.get("prolific_token", "")
    if not token:
        return False
    try:
        check_token(token, query=query)
    except BadToken as error:
        raise EntryRefused(f"the signed link: {error}") from None
    except KeysUnavailable as error:
        logger.warning("the keys of signed links: %s", error)
        return False
    return True


def _has_entered(study: Study, pid: str, session: str) -> bool:
    # By the index of annotators: an id itself has none, and would be compared with everybody's.
    known = {"annotator__study": study, "annotator__identity_hash__in": identity_hashes(pid)}
    identity = ProlificIdentity.objects.filter(**known).first()
    return identity is not None and session in identity.session_ids


def _ask(study: Study, pid: str, session: str) -> EntryVerification:
    read_at = clock.now()
    try:
        with page_client(study.pk) as client:
            remote = client.submission(session)
    except NotFound:
        return EntryVerification.UNKNOWN
    except ProlificError as error:
        logger.info("study %s: a submission could not be looked up at entry: %s", study.pk, error)
        return EntryVerification.NOTHING
    row = study_of(remote)
    if row is None and remote.participant == pid and is_test_study(study, remote.study_id):
        return EntryVerification.TEST
    if row is None or row.study_id != study.pk or remote.participant != pid:
        raise EntryRefused("SESSION_ID is somebody else's, or of another study")
    if remote.status in _OVER:
        raise EntryRefused("the submission is over on Prolific")
    apply(row, remote, read_at=read_at)
    return EntryVerification.KNOWN


def is_test_study(study: Study, prolific_study: str) -> bool:
    """Whether a study on Prolific is a copy of this one for the account's test participants."""
    return study.log.filter(event=TEST_STUDY, detail__test=prolific_study).exists()


def _is_short(study: Study) -> bool:
    """Whether the next annotator might find no seats or a full group, as far as we know.

    Annotators who started but have no seats or place yet will take theirs first.
    """
    under_way = Annotator.objects.filter(study=study, state__in=ACTIVE)
    without_seats = under_way.filter(assignments=None, works_surplus=False).count()
    open_items = Item.objects.filter(study=study, seats_taken__lt=F("seats_needed"))
    wanted = (without_seats + 1) * study.items_per_annotator
    # As many open items have as many seats: no need to read all items at each arrival.
    if open_items.order_by()[:wanted].count() < wanted:
        seats = open_items.aggregate(n=Sum(F("seats_needed") - F("seats_taken")))["n"] or 0
        if seats < wanted:
            return True
    unasked = under_way.filter(screened_at=None).count()
    return QuotaGroup.objects.filter(
        study=study, target__gt=0, target__lte=F("reserved") + F("completed") + unasked
    ).exists()
