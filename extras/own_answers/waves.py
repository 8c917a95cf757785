"""Waves: the same people asked again in a study of its own, and how they are invited."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.http import urlencode

from annotation.models import Annotation, Annotator, Invitation, ProlificIdentity
from annotation.participants.added_steps import EndNote
from annotation.seats.assignment import SameItems
from annotation.services.admission import AtArrival
from annotation.services.endings import AtEnd
from annotation.services.identities import identity_hash, identity_hashes
from extras.own_answers.models import LaterWave, WavePerson
from studies.errors import StudyError
from studies.models import Item, RemovedPerson, Study
from studies.services.related_studies import AssociatedStudy
from studies.services.studies import lock_study, record
from studies.services.whole_studies import (
    StudyContent,
    copy_study,
    delete_with_all_that_refers,
)

_SALT = "own_answers.waves"
_MOST_UNKNOWN = 5


@transaction.atomic
def next_wave(
    *,
    study_id: int,
    slug: str,
    title: str = "",
    items: str = LaterWave.Items.SAME,
    keys: Collection[str] = (),
    by: User | None = None,
) -> Study:
    """A draft for the people of a study, or of its first wave: the next wave.

    It has the settings, texts and questions of `study_id`, and its items: all (`same`), those with
    `keys` (`some`), or none (`other`). Consent, pay and plan are its own. Exports name a person
    alike in all waves. Raises `StudyError`.
    """
    study = lock_study(study_id)
    own = LaterWave.objects.filter(study=study).first()
    first = own.first if own else study
    last = LaterWave.objects.filter(first=first).order_by("-number").first()
    only: dict[str, Mapping[str, Any]] | None = None
    if items == LaterWave.Items.SOME:
        known = set(Item.objects.filter(study=study).values_list("key", flat=True))
        if unknown := [key for key in keys if key not in known]:
            listed = ", ".join(f"“{key}”" for key in unknown[:_MOST_UNKNOWN])
            raise StudyError(f"“{study.slug}” has no item {listed}. Correct the ids of the items.")
        if not keys:
            raise StudyError("Enter the ids of the items for the next wave, one per line.")
        only = {key: {} for key in keys}
    number = last.number + 1 if last else 2
    changes = {"entry": Study.Entry.LIST} if study.entry == Study.Entry.LINK else {}
    new = copy_study(
        study_id=study.pk,
        slug=slug,
        title=title or f"{first.title}: wave {number}"[:200],
        with_items=items != LaterWave.Items.OTHER,
        only=only,
        by=by,
        **changes,
    )
    # The same key, so that the same name inside gives the same exported name.
    Study.objects.filter(pk=new.pk).update(export_key=first.export_key)
    LaterWave.objects.create(study=new, first=first, number=number, items=items)
    record(first, "wave created", user=by, new=new.slug, number=number)
    return new


def series_of(study: Study) -> tuple[Study, list[LaterWave]]:
    """The first study of a series, and its later waves in order."""
    own = LaterWave.objects.select_related("first").filter(study=study).first()
    first = own.first if own else study
    waves = LaterWave.objects.filter(first=first).select_related("study").order_by("number")
    return first, list(waves)


def other_waves(study: Study) -> list[AssociatedStudy]:
    """The other waves of a series."""
    first, later = series_of(study)
    waves = [(first, 1), *((wave.study, wave.number) for wave in later)]
    return [AssociatedStudy(member, f"wave {n}") for member, n in waves if member.pk != study.pk]


def people_of(first: Study) -> QuerySet[Annotator]:
    """Those who completed the first wave and did not withdraw, without excluded ones."""
    completed = Annotator.objects.filter(study=first, state=Annotator.State.COMPLETED)
    return completed.filter(excluded_at=None, is_imported=False)


@dataclass(frozen=True)
class WaveInvitations:
    """How many people an invitation added, had before, and could not reach."""

    added: int
    known: int
    unreachable: int


@transaction.atomic
def invite_people(*, wave_id: int, user: User | None = None) -> WaveInvitations:
    """Put everybody who completed the first wave on the list of a later one; repeats add new ones.

    Somebody who came by an open link gets a personal link, which the last page of their first part
    shows. Raises `StudyError` if the study has no list.
    """
    wave = LaterWave.objects.select_related("study", "first").get(pk=wave_id)
    study = lock_study(wave.study_id)
    if study.entry != Study.Entry.LIST:
        raise StudyError("This study has no list. Its people are invited on Prolific.")
    keys = keys_of(wave)
    known = add_people(wave, keys)
    old = set(Invitation.objects.filter(study=study).values_list("key", flat=True))
    new = sorted({*keys.values()} - old)
    Invitation.objects.bulk_create(Invitation(study=study, key=key) for key in new)
    if new:
        record(study, "people invited", user=user, people=len(new), wave=wave.number)
    left = people_of(wave.first).count() - len(keys)
    return WaveInvitations(len(new), known, left)


def keys_of(wave: LaterWave) -> dict[int, str]:
    """The id with which each person of the first wave enters a later one."""
    people = people_of(wave.first)
    pids = dict(
        ProlificIdentity.objects.filter(annotator__in=people).values_list("annotator", "pid")
    )
    by_code = people.exclude(resume_code=None).values_list("pk", "resume_code")
    return pids | {pk: personal_key(wave, str(code)) for pk, code in by_code}


def personal_key(wave: LaterWave, code: str) -> str:
    """The id in a wave of somebody with this personal code in the first; nobody can guess it."""
    return salted_hmac(_SALT, f"{wave.pk} {code}", algorithm="sha256").hexdigest()[:32]


def add_people(wave: LaterWave, keys: Mapping[int, str]) -> int:
    """Store who may come; returns how many were stored before."""
    known = set(WavePerson.objects.filter(wave=wave).values_list("annotator", flat=True))
    WavePerson.objects.bulk_create(
        WavePerson(wave=wave, annotator_id=pk, identity_hash=identity_hash(key))
        for pk, key in sorted(keys.items())
        if pk not in known
    )
    return len(known)


def content_of(study: Study) -> StudyContent:
    """The reason not to delete a first wave: later ones would lose their people without a trace."""
    later = LaterWave.objects.filter(first=study).order_by("number")
    if not (
        slugs := ", ".join(f"“{slug}”" for slug in later.values_list("study__slug", flat=True))
    ):
        return StudyContent()
    return StudyContent(
        obstacles=[
            f"This is the first wave of {slugs}. Without it, nobody is recognised there, and their "
            "reports cannot compare people with themselves. Delete these studies first, or take "
            "them out of the series on their pages Annotators, Waves."
        ]
    )


@transaction.atomic
def leave_series(*, study_id: int, user: User | None = None) -> None:
    """Make a later wave a study of its own, which does not know who its people are in the first.

    Raises `StudyError` while people can take part, or if it is no later wave.
    """
    study = lock_study(study_id)
    wave = LaterWave.objects.filter(study=study).select_related("first").first()
    if wave is None:
        raise StudyError(f"“{study.slug}” is no later wave.")
    if study.is_under_way:
        raise StudyError("People can still take part. Close the study before it leaves the series.")
    record(study, "left the series", user=user, first=wave.first.slug, number=wave.number)
    delete_with_all_that_refers(LaterWave, pk=wave.pk)


def _leave(annotator: Annotator) -> None:
    """Take who withdrew off the lists of later waves, whose reports compared their answers."""
    answers = Annotation.objects.filter(
        assignment__annotator=annotator, assignment__item__split=Item.Split.MAIN
    ).count()
    waves = LaterWave.objects.filter(first=annotator.study_id)
    if answers:
        RemovedPerson.objects.bulk_create(
            RemovedPerson(study_id=study, own_answers=answers)
            for study in waves.values_list("study", flat=True)
        )
    for row in WavePerson.objects.filter(annotator=annotator).select_related("wave"):
        if not Annotator.objects.filter(
            study=row.wave.study_id, identity_hash=row.identity_hash
        ).exists():
            listed = Invitation.objects.filter(study=row.wave.study_id).values_list("pk", "key")
            own = [pk for pk, key in listed if row.identity_hash in identity_hashes(key)]
            Invitation.objects.filter(pk__in=own).delete()


AT_END = AtEnd("waves", lambda annotator: None, _leave)


def before_in(annotator: Annotator) -> Annotator | None:
    """The same person in the first wave, if they completed it and did not withdraw since."""
    people = WavePerson.objects.filter(
        wave__study=annotator.study_id, identity_hash=annotator.identity_hash
    ).select_related("annotator")
    person = people.first() if annotator.identity_hash else None
    is_here = person is not None and person.annotator.state == Annotator.State.COMPLETED
    return person.annotator if person is not None and is_here else None


def _take_the_same_name(annotator: Annotator) -> None:
    """Name somebody as in the first wave; exports name both by the same key."""
    if before := before_in(annotator):
        annotator.pseudonym = before.pseudonym
        annotator.save(update_fields=["pseudonym"])


def _same_items(annotator: Annotator) -> Collection[int]:
    """The items of the wave that the person answered in the first one."""
    before = before_in(annotator)
    if before is None:
        return ()
    keys = before.assignments.exclude(annotation=None).values("item__key")
    return Item.objects.filter(study=annotator.study_id, key__in=keys).values_list("pk", flat=True)


ARRIVAL = AtArrival("waves", _take_the_same_name)
SAME_ITEMS = SameItems("waves", _same_items)


def _link_to_next(annotator: Annotator) -> Mapping[str, Any]:
    """The personal link to an open wave of somebody who came by an open link."""
    if not annotator.resume_code:
        return {}
    people = WavePerson.objects.filter(annotator=annotator, wave__study__state=Study.State.OPEN)
    person = people.select_related("wave__study").order_by("-wave__number").first()
    if person is None:
        return {}
    key = personal_key(person.wave, annotator.resume_code)
    path = reverse("annotation:entry", args=[person.wave.study.slug])
    path = f"{path}?{urlencode({'PROLIFIC_PID': key})}"
    return {"path": path, "base": settings.PUBLIC_BASE_URL}


NOTE = EndNote("next_wave", "annotation/endings/_next_wave.html", _link_to_next)


@dataclass(frozen=True)
class WaveRow:
    """A wave as the page lists it; `came` and `completed` are people of the first wave."""

    study: Study
    number: int
    items: str
    invited: int
    came: int
    completed: int


def rows_of(
    first: Study, waves: Collection[LaterWave], *, may_see: Callable[[Study], bool]
) -> list[WaveRow]:
    """The waves that a user may see."""
    done = Annotator.State.COMPLETED
    own = Annotator.objects.filter(study=first, is_imported=False)
    rows = [WaveRow(first, 1, "", own.count(), own.count(), own.filter(state=done).count())]
    for wave in waves:
        people = WavePerson.objects.filter(wave=wave)
        came = Annotator.objects.filter(
            study=wave.study, identity_hash__in=people.values("identity_hash")
        )
        rows.append(
            WaveRow(
                wave.study,
                wave.number,
                str(wave.get_items_display()),
                people.count(),
                came.count(),
                came.filter(state=done).count(),
            )
        )
    return [row for row in rows if may_see(row.study)]
