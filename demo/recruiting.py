"""The demo's study on the simulated Prolific, from draft to payment.

The researcher's actions use the product's command; participants take places, leave and enter codes
on the simulated platform.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import requests
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db.models import F, QuerySet, Sum

from annotation.models import Annotation, ProlificStudy, ProlificSubmission, Recruitment
from annotation.models import Annotator as Participant
from annotation.prolific.sync.sync import follow
from demo.annotators import SimulatedAnnotator, attributes, participant_id, pseudonym
from demo.studies import DemoError
from demo.truth import ANNOTATORS, World
from studies.models import Study
from studies.money import format_money

_PLAN = ("--country", "United States", "--approval-rate", "95", "--age", "18-75")
# The platform's data about a participant, by their answers in the study.
_SEX = {"woman": "Female", "man": "Male"}
_POLITICS = {"democrat": "Democrat", "republican": "Republican", "independent": "Independent"}
_READING = 75.0  # seconds with consent and instructions
_SEES_IT_DIFFERENTLY = 12  # this participant gave another answer on the platform


@dataclass(frozen=True)
class Leaver:
    """A participant who took the place of annotator `instead`, answered some items, and left."""

    instead: int
    how: str  # return or time-out
    answers: int
    comes_back: bool = False

    @property
    def number(self) -> int:
        """The leaver's number: numbers thirty apart state the same and fill the same group."""
        return self.instead + ANNOTATORS


LEAVERS = (
    Leaver(5, "return", 8),
    Leaver(12, "return", 0),
    Leaver(21, "time-out", 12),
    Leaver(26, "time-out", 20, comes_back=True),
)


class ProlificParticipants:
    """Actions of participants on the simulated Prolific."""

    def __init__(self, base_url: str, study_id: str) -> None:
        self._base_url = base_url
        self._study_id = study_id

    def people(self) -> dict[str, dict[str, str]]:
        """The participants so far, by id."""
        answer = requests.get(
            f"{self._base_url}/simulate/people", params={"study": self._study_id}, timeout=30
        )
        answer.raise_for_status()
        return {card["participant"]: card for card in answer.json()["people"]}

    def arrive(self, number: int) -> dict[str, str]:
        body = {
            "study": self._study_id,
            "participant": platform_id(number),
            "about": _about(number),
        }
        return self._post("arrive", body)

    def leave(self, session: str, how: str) -> None:
        self._post(how, {"submission": session})

    def hand_in(self, session: str, code: str, *, seconds: float) -> None:
        self._post("finish", {"submission": session, "code": code, "seconds": seconds})

    def _post(self, action: str, body: dict[str, Any]) -> dict[str, str]:
        answer = requests.post(f"{self._base_url}/simulate/{action}", json=body, timeout=30)
        answer.raise_for_status()
        card: dict[str, str] = answer.json()
        return card


def platform_id(number: int) -> str:
    return participant_id(pseudonym(number))


def _about(number: int) -> dict[str, str]:
    profile = attributes(number)
    about = {
        "sex": _SEX.get(profile["gender"], ""),
        "us-political-affiliation": _POLITICS.get(profile["politics"], ""),
    }
    if number == _SEES_IT_DIFFERENTLY:
        about["us-political-affiliation"] = "Independent"
    return {name: label for name, label in about.items() if label}


class SimulatedRecruiting:
    """The recruiting of one study; every step may be repeated."""

    def __init__(self, study: Study, platform_url: str) -> None:
        self._study = study
        self._url = platform_url
        self._platform: ProlificParticipants | None = None

    @property
    def platform(self) -> ProlificParticipants:
        if self._platform is None:
            row = ProlificStudy.objects.get(study=self._study)
            self._platform = ProlificParticipants(self._url, str(row.prolific_id))
        return self._platform

    def launch(self) -> str:
        """Create the draft, publish it, subscribe to its events; return the cost.

        Raises `DemoError` if an earlier version of the demo has admitted annotators without
        Prolific.
        """
        launched = ProlificStudy.objects.filter(study=self._study, prolific_id__isnull=False)
        if not launched.exists() and self._study.annotators.exists():
            raise DemoError(
                f"The demo in {settings.VAR_DIR} was made by an earlier version, which this one "
                "cannot continue. Start again in another folder, VAR_DIR=var/new make demo, or "
                f"remove {settings.VAR_DIR} if nothing in it matters to you."
            )
        self._command("launch", *_PLAN)
        row = ProlificStudy.objects.get(study=self._study)
        if row.status == "UNPUBLISHED":
            self._command("publish", "--yes")
        if not Recruitment.objects.filter(study=self._study, webhooks_at__isnull=False).exists():
            self._command("webhooks")
        # Participants who left just before a kill are known here before they enter again.
        follow(study_id=self._study.pk)
        return format_money(row.reward * row.places, row.currency or self._study.currency)

    def first(self) -> list[int]:
        """The numbers that take the places at first, including those who will leave."""
        instead = {leaver.instead: leaver.number for leaver in LEAVERS}
        return [instead.get(number, number) for number in range(1, ANNOTATORS + 1)]

    def arriving(
        self, numbers: Iterable[int], base_url: str, world: World
    ) -> Iterator[SimulatedAnnotator]:
        """Annotators who have taken a place and hold a link, without those who left for good."""
        known = self.platform.people()
        gone = {leaver.number for leaver in LEAVERS if not leaver.comes_back}
        for number in numbers:
            card = known.get(platform_id(number))
            if card and card["status"] != "ACTIVE" and number in gone:
                continue
            card = card or self.platform.arrive(number)
            yield SimulatedAnnotator(number, self._study.slug, base_url, world, link=card["url"])

    def let_leave(self, people: Sequence[SimulatedAnnotator]) -> None:
        """Let the leavers give their answers and leave, which frees their places."""
        present = {person.number: person for person in people}
        known = self.platform.people()
        for leaver in LEAVERS:
            person = present.get(leaver.number)
            if person is None or known[person.pid]["status"] != "ACTIVE":
                continue
            person.answer_some(leaver.answers - self._answers(person).count())
            self._date_back(person)
            self.platform.leave(person.session, leaver.how)
        # Webhooks report this too; nobody takes a place before it is known to be free.
        follow(study_id=self._study.pk)

    def _date_back(self, person: SimulatedAnnotator) -> None:
        """Backdate the person's start by the time that their answers took, so nobody waits."""
        worked = self._answers(person).aggregate(ms=Sum("active_ms"))["ms"] or 0
        Participant.objects.filter(study=self._study, prolific_identity__pid=person.pid).update(
            started_at=F("started_at") - timedelta(milliseconds=worked)
        )

    def _answers(self, person: SimulatedAnnotator) -> QuerySet[Annotation]:
        return Annotation.objects.filter(
            assignment__annotator__prolific_identity__pid=person.pid,
            assignment__annotator__study=self._study,
        )

    def hand_in(self, person: SimulatedAnnotator, code: str) -> None:
        """Enter the code on the platform, unless that was done before."""
        if self.platform.people()[person.pid]["status"] == "ACTIVE":
            worked = self._answers(person).aggregate(ms=Sum("active_ms"))["ms"] or 0
            self.platform.hand_in(person.session, code, seconds=worked / 1000 + _READING)

    def settle(self) -> tuple[int, str, int, str]:
        """Approve and pay everybody; return the number of approvals and bonuses, and the sums."""
        self._command("demographics")
        self._command("settle", "--approve", "--bonuses", "--yes")
        follow(study_id=self._study.pk)
        submissions = ProlificSubmission.objects.filter(prolific_study__study=self._study)
        rewards = [s.prolific_study.reward for s in submissions.filter(status="APPROVED")]
        bonuses = [amount for s in submissions for amount in s.bonuses]
        money = self._study.currency
        return (
            len(rewards),
            format_money(sum(rewards), money),
            len(bonuses),
            format_money(sum(bonuses), money),
        )

    def _command(self, action: str, *options: str) -> None:
        try:
            call_command("prolific", action, self._study.slug, *options, stdout=io.StringIO())
        except CommandError as problem:
            raise DemoError(f"The simulated recruiting stopped at “{action}”: {problem}") from None
