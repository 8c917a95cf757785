"""What Prolific said about somebody is deleted when they withdraw, and at their request."""

from annotation.models import Annotator
from annotation.services.endings import AtEnd
from extras.prolific_tools.models import StatedDemographics
from studies.held_copies import HeldBy, PersonIn


def _withdrew(annotator: Annotator) -> None:
    StatedDemographics.objects.filter(submission__annotator=annotator).delete()


def _forget(person: PersonIn) -> None:
    StatedDemographics.objects.filter(
        submission__annotator__study=person.study, submission__annotator__pseudonym=person.name
    ).delete()


AT_END = AtEnd("demographics on Prolific", lambda _annotator: None, _withdrew)
HELD = HeldBy("demographics on Prolific", forget=_forget)
