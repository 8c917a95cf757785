"""Entering a study by the link of a panel. The id in a link is a claim, as on Prolific."""

from django.db import transaction

from annotation.errors import OtherDevice, TookPartBefore
from annotation.models import Annotator
from annotation.seats import flow
from annotation.services.admission import (
    arrive,
    count_start,
    resume_on_return,
    took_part_before,
)
from annotation.services.identities import identity_hash, identity_hashes
from extras.panels.links import PanelLink
from extras.panels.models import Panel, PanelPerson
from studies.models import Study


def known_by(panel: Panel, person: str) -> Annotator | None:
    """The annotator of the panel's study with this id of the panel."""
    return Annotator.objects.filter(
        study=panel.study_id, identity_hash__in=identity_hashes(_claim(panel, person))
    ).first()


def _claim(panel: Panel, person: str) -> str:
    """The id in the panel's own namespace: no id on Prolific or a list has a colon."""
    return f"panel:{panel.namespace}:{person}"


def enter_from_panel(
    *,
    panel: Panel,
    link: PanelLink,
    address: str = "",
    bound_to: int | None = None,
    is_framed: bool = False,
) -> Annotator:
    """Find or create the annotator of a panel's link; every session id is kept.

    A new annotator needs an open study; a known one can always return to their current step.
    Unless the panel signs its links, starts are limited by `address`, and a known annotator must
    show something seen before: a browser that is `bound_to` them, or a session id.

    Raises `OtherDevice`, and for a new annotator `StudyNotOpen`, `TookPartBefore` and
    `TooManyStarts`: nothing is stored then.
    """
    study = Study.objects.get(pk=panel.study_id)
    known = known_by(panel, link.person)
    if known is None:
        claim = _claim(panel, link.person)
        if took_part_before(study, identity_hashes(claim)):
            raise TookPartBefore(f"study {study.pk} excludes people of its related studies")
        if address and not link.is_signed and study.state == Study.State.OPEN:
            count_start(study, address)
        with transaction.atomic():
            known, is_new = arrive(
                study,
                identity_hash=identity_hash(claim),
                first_answer_by=None if link.is_signed else flow.limit(),
            )
            if is_new:
                PanelPerson.objects.create(
                    annotator=known,
                    panel=panel,
                    person=link.person,
                    study_reference=link.study,
                    sessions=[link.session] if link.session else [],
                    submit_to=link.submit_to,
                    is_framed=is_framed,
                    is_signed=link.is_signed,
                )
                return known  # nothing to resume
    elif not (link.is_signed or known.pk == bound_to or _was_seen(known, link.session)):
        raise OtherDevice(f"annotator {known.pk} is known by another browser and session")
    _keep_session(known, link, is_framed=is_framed)
    return resume_on_return(known, study)


def _was_seen(annotator: Annotator, session: str) -> bool:
    """Whether the session is one of the annotator's; before consent there is nothing to protect."""
    person = PanelPerson.objects.filter(annotator=annotator).first()
    if person is None:
        return False
    if not person.sessions and not session:
        return annotator.state == Annotator.State.ARRIVED
    return session in person.sessions


def _keep_session(annotator: Annotator, link: PanelLink, *, is_framed: bool) -> None:
    """Store what a later link of the same person says, unless the ids were deleted."""
    with transaction.atomic():
        people = PanelPerson.objects.select_for_update(no_key=True).filter(annotator=annotator)
        person = people.exclude(person="").first()
        if person is None:
            return
        if link.session:
            earlier = [session for session in person.sessions if session != link.session]
            person.sessions = [*earlier, link.session]
        person.submit_to, person.is_framed = link.submit_to or person.submit_to, is_framed
        person.save(update_fields=["sessions", "submit_to", "is_framed"])
