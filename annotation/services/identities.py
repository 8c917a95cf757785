"""Platform ids of annotators, the keyed hash that stays, and the deletion of ids."""

import re
from collections.abc import Callable

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from annotation.errors import EntryRefused
from annotation.models import (
    Annotator,
    AnnotatorEvent,
    Invitation,
    ProlificEvent,
    ProlificIdentity,
    ProlificStudy,
    ProlificSubmission,
)
from studies.extra import Kind
from studies.models import Study
from studies.services.studies import lock_study, record

_ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PROLIFIC = re.compile(r"[0-9a-f]{24}")
_SALT, _EMAIL_SALT = "annotation.identity", "annotation.invited"
_ERASED = "erased-"
# Deletes ids of other platforms of a locked study and returns the number of annotators.
FORGETTING: Kind[Callable[[Study], int]] = Kind("holdings", "identities")


def identity_hash(pid: str) -> str:
    """The hash of `pid`, the same in every study of this installation."""
    return _hash(pid, settings.SECRET_KEY)


def identity_hashes(pid: str) -> list[str]:
    """The hashes under the current key and under every former one (SECRET_KEY_FALLBACKS)."""
    return [_hash(pid, key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)]


def _hash(pid: str, key: str | bytes) -> str:
    return salted_hmac(_SALT, pid, secret=key, algorithm="sha256").hexdigest()


def email_ids(address: str) -> list[str]:
    """The id on lists that stands for an e-mail address, now and under former keys.

    The address itself is not stored. Nobody can guess the id, and it is the same in every study.
    """
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    name = address.casefold()
    return [
        salted_hmac(_EMAIL_SALT, name, secret=key, algorithm="sha256").hexdigest()[:32]
        for key in keys
    ]


def imported_hashes(rater: str) -> list[str]:
    """What stays of a deleted rater of a file, so that no file brings them back."""
    return identity_hashes(f"imported:{rater}")


def erased_ids(value: str) -> list[str]:
    """What replaces an id of a deleted person, under the current key and former ones.

    A platform that sends the id again is recognised by it.
    """
    return [_ERASED + code[:48] for code in identity_hashes(value)]


def is_erased(stored: str) -> bool:
    """Whether a stored id was replaced in this way."""
    return stored.startswith(_ERASED)


def with_ids(submissions: QuerySet[ProlificSubmission]) -> QuerySet[ProlificSubmission]:
    """Those that can still be named to the platform."""
    return submissions.exclude(submission_id__startswith=_ERASED)


def forget_payments(submissions: QuerySet[ProlificSubmission]) -> None:
    """Keep what was paid, without what identifies people on the platform.

    A deleted row would come back with the next reading, its ids with it, and nobody would know any
    more that it is paid.
    """
    for one in with_ids(submissions):
        one.submission_id = erased_ids(one.submission_id)[0]
        one.participant, one.code, one.approval_asked_at = "", "", None
        one.save(update_fields=["submission_id", "participant", "code", "approval_asked_at"])


def check_ids(*, pid: str, prolific_study_id: str, session_id: str) -> None:
    """Raise `EntryRefused` if ids are malformed; the message contains no ids."""
    if not _ACCEPTED.fullmatch(pid):
        raise EntryRefused("PROLIFIC_PID is missing, unfilled or malformed")
    for name, value in (("STUDY_ID", prolific_study_id), ("SESSION_ID", session_id)):
        if value and not _ACCEPTED.fullmatch(value):
            raise EntryRefused(f"{name} is unfilled or malformed")


def has_entered(study: Study, pid: str) -> bool:
    """Whether somebody with this id takes part already, however people enter the study now."""
    return Annotator.objects.filter(study=study, identity_hash__in=identity_hashes(pid)).exists()


def check_new(study: Study, *, pid: str) -> None:
    """Raise `EntryRefused` unless somebody with this id may begin the study.

    The way to enter can change while a study runs; those who have come may always return.
    """
    if study.entry == Study.Entry.LINK:
        raise EntryRefused("this study is entered by its link, without an id")
    if study.entry == Study.Entry.LIST:
        if not Invitation.objects.filter(study=study, key=pid).exists():
            raise EntryRefused("this id is not on the study's list")
    elif _is_bound(study) and not _PROLIFIC.fullmatch(pid):
        raise EntryRefused("PROLIFIC_PID does not have the form of the platform's ids")


def _is_bound(study: Study) -> bool:
    return ProlificStudy.objects.filter(study=study, prolific_id__isnull=False).exists()


@transaction.atomic
def purge_identities(*, study_id: int) -> int:
    """Delete the platform's ids of every annotator in a study; return the number of annotators.

    The keyed hash stays, so that nobody takes part twice. This cannot be undone: bonuses and
    messages through the platform become impossible.
    """
    study = lock_study(study_id)
    submissions = ProlificSubmission.objects.filter(prolific_study__study=study)
    ProlificEvent.objects.filter(resource_id__in=submissions.values("submission_id")).delete()
    # Those that are still to be paid come back with the next reading, until they are.
    submissions.exclude(status__in=ProlificSubmission.FINAL).exclude(
        bonus_lines__is_open=True
    ).delete()
    forget_payments(submissions)
    Invitation.objects.filter(study=study).delete()
    purged, _ = ProlificIdentity.objects.filter(annotator__study=study).delete()
    # Also of extras that are off: they keep their rows.
    purged += sum(forget(study) for forget in FORGETTING)
    if purged:
        record(study, "identities purged", people=purged)
    return purged


@transaction.atomic
def note_same_browser(*, annotator_id: int, other_id: int) -> None:
    """Record that two annotators of a study used one browser, in the log of both; once."""
    both = Annotator.objects.in_bulk([annotator_id, other_id])
    if len(both) < 2 or len({person.study_id for person in both.values()}) > 1:
        return
    for own, other in ((annotator_id, other_id), (other_id, annotator_id)):
        log = AnnotatorEvent.objects.filter(annotator=own, event=AnnotatorEvent.SAME_BROWSER)
        name = both[other].pseudonym
        if not log.filter(detail__with=name).exists():
            AnnotatorEvent.objects.create(
                annotator=both[own], event=AnnotatorEvent.SAME_BROWSER, detail={"with": name}
            )


def forget_person(annotator: Annotator) -> None:
    """Delete an annotator's identity and the texts they wrote, when they withdraw.

    Two things stay: the keyed hash, so that they cannot take part again, and their submission id,
    which is needed to pay them.
    """
    annotator.feedback, annotator.demographics = "", {}
    annotator.save(update_fields=["feedback", "demographics"])
    annotator.prolific_submissions.update(participant="")
    ProlificIdentity.objects.filter(annotator=annotator).delete()


def forget_withdrawn(study_id: int) -> None:
    """Delete data that a platform has sent since annotators withdrew."""
    ProlificSubmission.objects.filter(
        prolific_study__study=study_id, annotator__state=Annotator.State.WITHDREW
    ).exclude(participant="").update(participant="")
