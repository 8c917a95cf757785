"""Admission to a study: links, invitations, related studies, limits, confirmation.

Anyone can open a link with an invented id. But the recruiting platform may not know a place that is
seconds old either, so nobody is rejected: an unknown annotator works without seats, and takes some
once they are known.
"""

import datetime as dt
import logging
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import F
from django.utils.crypto import salted_hmac

from annotation.errors import (
    EntryRefused,
    InvitationError,
    OtherDevice,
    StudyNotOpen,
    TookPartBefore,
    TooManyStarts,
)
from annotation.models import (
    Annotator,
    AnnotatorEvent,
    Invitation,
    LinkStart,
    ProlificIdentity,
    RelatedStudy,
    random_code,
)
from annotation.models.annotators import TEST_WALK
from annotation.seats import flow
from annotation.seats.item_statements import insert
from annotation.services.endings import exclude
from annotation.services.identities import (
    check_ids,
    check_new,
    email_ids,
    identity_hash,
    identity_hashes,
)
from annotation.services.other_platforms import is_on_prolific
from studies.extra import Kind
from studies.models import Study
from studies.services.accounts.sign_ins import Limit
from studies.services.studies import check_seen, lock_study, record, seen_of
from studies.statements import clock

_ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BETWEEN = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class AtArrival:
    """An extra's callback for an annotator who was just created."""

    name: str
    arrived: Callable[[Annotator], object]


ARRIVALS: Kind[AtArrival] = Kind("events", "arrived")


@dataclass(frozen=True)
class Invited:
    """The result of adding ids."""

    added: int
    known: int


@transaction.atomic
def invite(*, study_id: int, text: str, user: User | None = None) -> Invited:
    """Add the ids and e-mail addresses in `text` to a study's list, all or none.

    They are separated by spaces, commas or lines. An id stands for an address, which is not stored.
    Ids on the list stay. The log has their number, not the ids. Raises `InvitationError`.
    """
    study = lock_study(study_id)
    if study.entry != Study.Entry.LIST:
        raise InvitationError("This study does not use a list of ids.")
    keys = list(dict.fromkeys(ids_in(text).values()))
    known = set(Invitation.objects.filter(study=study, key__in=keys).values_list("key", flat=True))
    new = [key for key in keys if key not in known]
    Invitation.objects.bulk_create(Invitation(study=study, key=key) for key in new)
    if new:
        record(study, "people invited", user=user, people=len(new))
    return Invited(len(new), len(known))


def ids_in(text: str) -> dict[str, str]:
    """The id for a list of each id or e-mail address in a text. Raises `InvitationError`."""
    words = list(dict.fromkeys(filter(None, _BETWEEN.split(text))))
    if not words:
        raise InvitationError("Enter at least one id.")
    standing_for = {word: email_ids(word) if "@" in word else [word] for word in words}
    # A new secret key gives nobody a second id.
    former = [key for keys in standing_for.values() for key in keys[1:]]
    listed = set(Invitation.objects.filter(key__in=former).values_list("key", flat=True))
    ids = {
        word: next((key for key in keys if key in listed), keys[0])
        for word, keys in standing_for.items()
    }
    faulty = [
        number
        for number, (word, key) in enumerate(ids.items(), start=1)
        if not (_is_address(word) if "@" in word else _ACCEPTED.fullmatch(key))
    ]
    if faulty:
        raise InvitationError(
            f"{len(faulty)} of {len(words)} ids cannot be part of a link; the first is number "
            f"{faulty[0]}. Use up to 64 letters, digits, - and _, or an e-mail address. No id was "
            "added."
        )
    return ids


def _is_address(word: str) -> bool:
    try:
        validate_email(word)
    except ValidationError:
        return False
    return True


def took_part_before(study: Study, hashes: Collection[str]) -> bool:
    """Whether an annotator with one of these hashes consented to a related study.

    The hash is the same in every study, and stays when the platform's ids are deleted.
    """
    related = RelatedStudy.objects.filter(study=study).values("related")
    return Annotator.objects.filter(
        study__in=related, identity_hash__in=hashes, consented_at__isnull=False
    ).exists()


def seen_selection(study: Study) -> str:
    """The hash of the selection that a form shows."""
    return seen_of(sorted(study.related_studies.values_list("related", flat=True)))


@transaction.atomic
def set_related_studies(
    *,
    study_id: int,
    related_ids: Collection[int],
    seen: str | None = None,
    user: User | None = None,
) -> None:
    """Exclude annotators of these studies from now on; those who have entered stay.

    The study itself is ignored. Repeats change nothing. Raises `StaleVersion` if the selection is
    not the one whose `seen_selection` a form showed.
    """
    study = lock_study(study_id)
    check_seen(study, seen, seen_selection(study), what="the selection of related studies")
    wanted = set(related_ids) - {study_id}
    present = set(study.related_studies.values_list("related", flat=True))
    if wanted == present:
        return
    study.related_studies.exclude(related__in=wanted).delete()
    RelatedStudy.objects.bulk_create(
        RelatedStudy(study=study, related_id=pk) for pk in sorted(wanted - present)
    )
    slugs = Study.objects.filter(pk__in=wanted).order_by("slug").values_list("slug", flat=True)
    record(study, "related studies set", user=user, studies=list(slugs))


logger = logging.getLogger(__name__)

# A study may have this many times the starts of one address, a limit for people with many
# addresses.
_ADDRESSES = 20
# Links of a panel name people whom it knows, and many of them may share an address: a class, a
# company, a mobile network.
_PANEL = 5
_HOUR = dt.timedelta(hours=1)
_KEPT_FOR = dt.timedelta(hours=12)


def starts_per_hour(study: Study) -> int:
    """How many people may start from one address within an hour; 0 means no limit."""
    if study.starts_per_hour is not None:
        return int(study.starts_per_hour)
    is_open = study.entry == Study.Entry.LINK
    return int(settings.LINK_STARTS_PER_HOUR) * (1 if is_open else _PANEL)


def count_start(study: Study, address: str, *, is_kept: bool = True) -> None:
    """Count a start from `address`, or raise `TooManyStarts` without counting it.

    Without `is_kept` it only looks whether the address has tried too often. A study with simulated
    people has no limit, because they share an address. Only a keyed hash of the address is stored,
    not linked to the annotator, and only for hours.
    """
    most = starts_per_hour(study)
    if not most or study.is_simulated:
        return
    hashed = salted_hmac(
        "annotation.starts", f"{study.pk} {address}", secret=settings.SECRET_KEY, algorithm="sha256"
    ).hexdigest()
    LinkStart.objects.filter(created_at__lt=clock.now() - _KEPT_FOR).delete()
    # Stored before it is compared, so that simultaneous starts see each other.
    own = LinkStart.objects.create(study=study, address=hashed)
    others = LinkStart.objects.filter(study=study).exclude(pk=own.pk)
    by_address = Limit(most, _HOUR)
    by_study = Limit(most * _ADDRESSES, _HOUR)
    if wait := by_address.wait(others.filter(address=hashed)) or by_study.wait(others):
        own.delete()
        logger.warning("study %s: start refused, too many of them", study.pk)
        raise TooManyStarts(wait)
    if not is_kept:
        own.delete()


# An annotator who is unknown for this long loses the seats taken before that.
PATIENCE = dt.timedelta(minutes=5)


@transaction.atomic
def doubt(*, annotator_id: int) -> None:
    """Record that the platform does not know the annotator's session.

    Only such an answer counts: an unreachable platform says nothing about anyone.
    """
    annotator = flow.lock(annotator_id)
    identity = _identity(annotator_id)
    if identity is None or identity.is_signed or annotator.prolific_submissions.exists():
        return
    now = clock.now()
    if identity.unknown_since is None:
        identity.unknown_since = now
        AnnotatorEvent.objects.create(annotator=annotator, event="unknown on Prolific")
    identity.looked_at, identity.looks = now, F("looks") + 1
    identity.save(update_fields=["unknown_since", "looked_at", "looks"])
    if now - identity.unknown_since >= PATIENCE:
        flow.unseat(annotator)


@transaction.atomic
def admit_tester(*, annotator_id: int) -> None:
    """Let a researcher walk through the study: without a seat or a place, and counted nowhere."""
    annotator = flow.lock(annotator_id)
    note_signed(annotator_id=annotator_id)
    annotator.works_surplus = True
    annotator.save(update_fields=["works_surplus"])
    exclude(annotator_id=annotator_id, reason=TEST_WALK)


@transaction.atomic
def confirm(*, annotator_id: int) -> None:
    """Record that the platform knows the annotator; repeats change nothing."""
    annotator = flow.lock(annotator_id)
    identity = _identity(annotator_id)
    if identity is None:
        return
    if annotator.state in flow.ACTIVE:
        flow.end_first_answer_limit(annotator)
    if identity.unknown_since is None:
        return
    identity.unknown_since = None
    identity.save(update_fields=["unknown_since"])
    AnnotatorEvent.objects.create(annotator=annotator, event="known on Prolific")
    flow.seat_again(annotator)


def note_signed(*, annotator_id: int) -> None:
    """Record that the platform has signed the link that the annotator opened."""
    ProlificIdentity.objects.filter(annotator=annotator_id).update(is_signed=True)
    confirm(annotator_id=annotator_id)


def _identity(annotator_id: int) -> ProlificIdentity | None:
    identities = ProlificIdentity.objects.select_for_update(no_key=True)
    return identities.filter(annotator=annotator_id).first()


def enter(
    *,
    study: Study,
    pid: str,
    prolific_study_id: str = "",
    session_id: str = "",
    address: str = "",
    bound_to: int | None = None,
    is_vouched_for: bool = True,
) -> Annotator:
    """Find or create the annotator `pid` of the study; every session id is kept.

    Idempotent: a reload, a second tab and a second device get the same annotator. A new annotator
    needs an open study; a known one can always return to their current step.

    An id is not a secret. Unless the platform vouches for it, starts are limited by `address`, if
    given, and a known annotator must show something seen before: a browser that is `bound_to` them,
    or a session id.

    Raises `EntryRefused` (malformed or not invited), `OtherDevice` and, for a new annotator,
    `StudyNotOpen`, `TookPartBefore` and `TooManyStarts`: nothing is stored then.
    """
    is_limited = bool(address) and not is_vouched_for and study.state == Study.State.OPEN
    check_ids(pid=pid, prolific_study_id=prolific_study_id, session_id=session_id)
    hashes = identity_hashes(pid)
    known = Annotator.objects.filter(study=study, identity_hash__in=hashes).first()
    if known is None:
        try:
            check_new(study, pid=pid)
        except EntryRefused:
            if is_limited and study.entry == Study.Entry.LIST:
                count_start(study, address)  # trying ids does not find those of a list
            raise
        if took_part_before(study, hashes):
            raise TookPartBefore(f"study {study.pk} excludes people of its related studies")
        if is_limited:
            # People on a list are known, so that only ids that are not on it count.
            count_start(study, address, is_kept=study.entry != Study.Entry.LIST)
        sessions = [session_id] if session_id else []
        with transaction.atomic():
            # A list vouches for its ids.
            is_known = is_vouched_for or study.entry != Study.Entry.PROLIFIC
            known, is_new = arrive(
                study,
                identity_hash=identity_hash(pid),
                first_answer_by=None if is_known else flow.limit(),
            )
            if is_new:
                ProlificIdentity.objects.create(
                    annotator=known, pid=pid, study_id=prolific_study_id, session_ids=sessions
                )
                return known  # with this session; nothing to resume
    elif not (is_vouched_for or known.pk == bound_to or _was_seen(known, session_id)):
        raise OtherDevice(f"annotator {known.pk} is known by another browser and session")
    _keep_session(known, session_id)
    return resume_on_return(known, study)


def enter_by_link(
    *, study_id: int, resume_code: str = "", fresh_code: str = "", address: str = ""
) -> Annotator:
    """Create an annotator with a random resume code, or find the one with the given code.

    `fresh_code` is the random code of a start page: a second press of its button finds the
    annotator that the first one created. Starts are limited by `address`, if given. Raises
    `EntryRefused` for an unknown code; for a new annotator `StudyNotOpen` and `TooManyStarts`.
    """
    study = Study.objects.get(pk=study_id)
    if not resume_code:
        if study.entry != Study.Entry.LINK:
            raise EntryRefused("this study requires an id")
        is_second_press = study.annotators.filter(resume_code=fresh_code).exists()
        if address and study.state == Study.State.OPEN and not is_second_press:
            count_start(study, address)
        return arrive(study, resume_code=fresh_code or random_code(10))[0]
    code = resume_code.strip().upper()
    known = Annotator.objects.filter(study=study, resume_code=code).first()
    if known is None:
        raise EntryRefused("no annotator of this study has this resume code")
    return resume_on_return(known, study)


@transaction.atomic
def resume(*, annotator_id: int) -> Annotator:
    """Resume a timed-out part where it stopped, with the seats that are free.

    Repeats change nothing. Raises `AlreadyEnded` after any other ending, and `StudyNotOpen` if the
    study is closed.
    """
    annotator = flow.lock(annotator_id)
    if annotator.state in flow.ACTIVE:
        return annotator
    if annotator.study.state == Study.State.CLOSED:
        raise StudyNotOpen(annotator.study.state)
    return flow.resume(annotator)


@transaction.atomic(savepoint=False)
def arrive(
    study: Study, *, first_answer_by: dt.datetime | None = None, **identity: str
) -> tuple[Annotator, bool]:
    """The annotator, and whether this created them or a second tab at the same moment."""
    if study.state != Study.State.OPEN:
        raise StudyNotOpen(study.state)
    annotator, created = Annotator.objects.get_or_create(
        study=study,
        **identity,
        defaults={
            "expires_at": clock.now() + flow.time_limit(study),
            "first_answer_by": first_answer_by,
        },
    )
    if created:
        insert(AnnotatorEvent(annotator=annotator, event="state", after=Annotator.State.ARRIVED))
        for follower in ARRIVALS.of(study):
            follower.arrived(annotator)
    return annotator, created


def _was_seen(annotator: Annotator, session_id: str) -> bool:
    """Whether the session is one of the annotator's.

    Before consent there is nothing to protect: a link without a session may be opened again,
    because a mail program may have opened it first.
    """
    identity = ProlificIdentity.objects.filter(annotator=annotator).first()
    if identity is None:
        return False
    if not identity.session_ids and not session_id:
        return annotator.state == Annotator.State.ARRIVED
    return session_id in identity.session_ids


def _keep_session(annotator: Annotator, session_id: str) -> None:
    """Store a new session id, unless the identity was deleted."""
    identity = ProlificIdentity.objects.filter(annotator=annotator).first()
    if identity is None or not session_id or session_id in identity.session_ids:
        return
    with transaction.atomic():
        identity = ProlificIdentity.objects.select_for_update(no_key=True).get(pk=identity.pk)
        if session_id not in identity.session_ids:
            identity.session_ids = [*identity.session_ids, session_id]
            identity.save(update_fields=["session_ids"])


def resume_on_return(annotator: Annotator, study: Study) -> Annotator:
    """Let an annotator whose time ran out continue, if that takes nothing from others.

    On Prolific, an annotator whose time ran out during the work is told first: they may no longer
    be paid.
    """
    unbound = (
        not is_on_prolific(annotator)
        or annotator.started_at is None
        or flow.lost_place_unanswered(annotator)
    )
    reopened = annotator.state == Annotator.State.CLOSED and study.state == Study.State.OPEN
    expired = annotator.state == Annotator.State.TIMED_OUT and unbound
    if reopened or (expired and study.state != Study.State.CLOSED):
        return resume(annotator_id=annotator.pk)
    return annotator
