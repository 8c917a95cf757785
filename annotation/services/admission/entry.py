"""Entering a study, and coming back."""

import datetime as dt

from django.db import transaction

from annotation.errors import EntryRefused, OtherDevice, StudyNotOpen, TookPartBefore
from annotation.models import Annotator, AnnotatorEvent, ProlificIdentity, random_code
from annotation.seats import first_answers, flow
from annotation.seats.identity import check_ids, check_new, identity_hash, identity_hashes
from annotation.services.admission.related_studies import took_part_before
from annotation.services.admission.start_limits import count_start
from studies.models import Study
from studies.statements import clock


def enter(
    *,
    study_id: int,
    pid: str,
    prolific_study_id: str = "",
    session_id: str = "",
    address: str = "",
    bound_to: int | None = None,
    is_vouched_for: bool = True,
) -> Annotator:
    """Find or create the annotator who is `pid` in the study; every session id is kept.

    Idempotent: reload, second tab and second device get the same annotator. A new annotator needs
    an open study; a known annotator can return at any time and sees their current step.

    An id is no secret. Unless the platform vouches for who brings it, starts are limited by
    `address`, if one is given, and a known annotator is let in with something that was seen before:
    the browser, which is `bound_to` them, or a session id.

    Raises `EntryRefused` (malformed or not invited), `OtherDevice` and, for a new annotator,
    `StudyNotOpen`, `TookPartBefore` and `TooManyStarts`: nothing is stored then.
    """
    study = Study.objects.get(pk=study_id)
    is_limited = bool(address) and not is_vouched_for and study.state == Study.State.OPEN
    check_ids(pid=pid, prolific_study_id=prolific_study_id, session_id=session_id)
    hashes = identity_hashes(pid)
    known = Annotator.objects.filter(study=study, identity_hash__in=hashes).first()
    if known is None:
        try:
            check_new(study, pid=pid)
        except EntryRefused:
            if is_limited and study.entry == Study.Entry.LIST:
                count_start(study, address)  # ids of a list are not found by trying
            raise
        if took_part_before(study, hashes):
            raise TookPartBefore(f"study {study.pk} does not take people of its related studies")
        if is_limited:
            count_start(study, address)
        sessions = [session_id] if session_id else []
        with transaction.atomic():
            # A list vouches for its ids.
            is_known = is_vouched_for or study.entry != Study.Entry.PROLIFIC
            known = _arrive(
                study,
                identity_hash=identity_hash(pid),
                first_answer_by=None if is_known else first_answers.limit(),
            )
            ProlificIdentity.objects.get_or_create(
                annotator=known,
                defaults={"pid": pid, "study_id": prolific_study_id, "session_ids": sessions},
            )
    elif not (is_vouched_for or known.pk == bound_to or _was_seen(known, session_id)):
        raise OtherDevice(f"annotator {known.pk} is known by another browser and session")
    _keep_session(known, session_id)
    return _come_back(known, study)


def enter_by_link(
    *, study_id: int, resume_code: str = "", fresh_code: str = "", address: str = ""
) -> Annotator:
    """Create an annotator with a random resume code, or find the one whose code is given.

    `fresh_code` is a random code that a start page was made with: a second press of its button
    finds the annotator that the first one created. Starts are limited by `address`, if one is
    given. Raises `EntryRefused` when the code is unknown; for a new annotator `StudyNotOpen` and
    `TooManyStarts`.
    """
    study = Study.objects.get(pk=study_id)
    if not resume_code:
        if study.entry != Study.Entry.LINK:
            raise EntryRefused("this study is entered with an id")
        is_second_press = study.annotators.filter(resume_code=fresh_code).exists()
        if address and study.state == Study.State.OPEN and not is_second_press:
            count_start(study, address)
        return _arrive(study, resume_code=fresh_code or random_code(10))
    code = resume_code.strip().upper()
    known = Annotator.objects.filter(study=study, resume_code=code).first()
    if known is None:
        raise EntryRefused("no part of this study has that resume code")
    return _come_back(known, study)


@transaction.atomic
def resume(*, annotator_id: int) -> Annotator:
    """Resume a timed-out part: the annotator is where they were, and takes seats that are free.

    Repeats change nothing. Raises `AlreadyEnded` after any other ending and `StudyNotOpen` when the
    study is closed.
    """
    annotator = flow.lock(annotator_id)
    if annotator.state in flow.ACTIVE:
        return annotator
    if annotator.study.state == Study.State.CLOSED:
        raise StudyNotOpen(annotator.study.state)
    return flow.resume(annotator)


@transaction.atomic
def _arrive(
    study: Study, *, first_answer_by: dt.datetime | None = None, **identity: str
) -> Annotator:
    """Create the annotator, unless a second tab did so at the same moment."""
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
        AnnotatorEvent.objects.create(
            annotator=annotator, event="state", after=Annotator.State.ARRIVED
        )
    return annotator


def _was_seen(annotator: Annotator, session_id: str) -> bool:
    """Whether the session is one of the annotator's.

    Before anybody has agreed there is nothing to act upon: a link without a session may be opened
    again, because a mail program may have opened it first.
    """
    identity = ProlificIdentity.objects.filter(annotator=annotator).first()
    if identity is None:
        return False
    if not identity.session_ids and not session_id:
        return annotator.state == Annotator.State.ARRIVED
    return session_id in identity.session_ids


def _keep_session(annotator: Annotator, session_id: str) -> None:
    """Store a session id that is new. After the identity was deleted nothing is stored."""
    identity = ProlificIdentity.objects.filter(annotator=annotator).first()
    if identity is None or not session_id or session_id in identity.session_ids:
        return
    with transaction.atomic():
        identity = ProlificIdentity.objects.select_for_update(no_key=True).get(pk=identity.pk)
        if session_id not in identity.session_ids:
            identity.session_ids = [*identity.session_ids, session_id]
            identity.save(update_fields=["session_ids"])


def _come_back(annotator: Annotator, study: Study) -> Annotator:
    """Let an annotator whose time ran out continue, if that takes nothing from others.

    On Prolific, an annotator whose time ran out in the middle of the work sees that first: they may
    no longer be paid.
    """
    unbound = (
        study.entry != Study.Entry.PROLIFIC
        or annotator.started_at is None
        or first_answers.lapsed(annotator)
    )
    reopened = annotator.state == Annotator.State.CLOSED and study.state == Study.State.OPEN
    expired = annotator.state == Annotator.State.TIMED_OUT and unbound
    if reopened or (expired and study.state != Study.State.CLOSED):
        return resume(annotator_id=annotator.pk)
    return annotator
