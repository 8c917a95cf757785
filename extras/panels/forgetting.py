"""The panels' ids of people: deleted when they withdraw, on request, and with those of Prolific."""

import datetime as dt
from collections.abc import Collection

from django.db.models import QuerySet

from annotation.models import Annotator
from annotation.seats.flow import finished
from extras.panels.models import Panel, PanelPerson
from studies.held_copies import HeldBy
from studies.models import Study
from studies.statements import clock

# Until then, the last page can send somebody who withdrew back to the panel.
_KEPT_AFTER_WITHDRAWING = dt.timedelta(hours=1)


def _forget(people: QuerySet[PanelPerson]) -> int:
    """Delete the ids; which panel somebody came from stays, and who was paid."""
    return people.exclude(person="").update(
        person="", study_reference="", sessions=[], submit_to=""
    )


def forget_identities(study: Study) -> int:
    """Delete the ids of everybody in a study; returns how many people had some."""
    return _forget(PanelPerson.objects.filter(panel__study=study))


def forget_withdrawn() -> int:
    """Delete the ids of people who withdrew, unless they had finished and are paid by a file."""
    people = PanelPerson.objects.filter(
        annotator__state=Annotator.State.WITHDREW,
        annotator__ended_at__lt=clock.now() - _KEPT_AFTER_WITHDRAWING,
    ).exclude(person="")
    by_file = people.filter(panel__pay=Panel.Pay.FILE)
    owed = finished([*by_file.values_list("annotator", flat=True)])
    return _forget(people.exclude(annotator__in=owed, panel__pay=Panel.Pay.FILE))


def _find(study: Study, text: str) -> Collection[str]:
    """The names of people whom a panel's id identifies."""
    people = PanelPerson.objects.filter(panel__study=study).exclude(person="")
    rows = people.values_list("annotator__pseudonym", "person", "sessions")
    return [name for name, person, sessions in rows if text in (person, *sessions)]


HELD = HeldBy("ids of panels", find=_find)
