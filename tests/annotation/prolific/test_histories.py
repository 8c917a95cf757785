"""People and a researcher at their pages, in any order: places and seats come out exactly."""

import datetime as dt
import random
import re
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.models import (
    Annotation,
    BonusPayment,
    ProlificStudy,
    ProlificSubmission,
    QuotaGroup,
)
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.tasks import handle_prolific_event
from demo.prolific.faults import FAULTS
from studies.models import Item
from tests.annotation.pages.walking import post_answer
from tests.annotation.prolific.life import (
    BALANCE,
    SECRET,
    make_recruiting,
    post,
    published,
    with_quotas,
)
from tests.sampling import examples

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SEATS = 3
_GENDER = {"Male": "man", "Female": "woman"}


class Participant:
    """Somebody with a place on Prolific and a browser; takes one step at a time."""

    def __init__(self, card: dict[str, str], slug: str) -> None:
        self.card, self.slug = card, slug
        self.session = card["submission"]
        self.code = ""
        self.client = Client()
        link = urlsplit(card["url"])
        self.page = self.client.get(f"{link.path}?{link.query}", follow=True)

    def step(self, *, comes_back: bool = False) -> None:
        """Do what the page asks; `comes_back` says whether to go on after one's time is over."""
        self.page = self.client.get(f"/s/{self.slug}/task/", follow=True)
        path = self.page.request["PATH_INFO"]
        place = path.removeprefix(f"/s/{self.slug}/").split("/")[0]
        html = self.page.content.decode()
        if place == "task":
            post_answer(self.client, self.page)
        elif place == "done":
            found = re.search(r"data-code>(\w+)<", html)
            self.code = found[1] if found else ""
            if comes_back and "Continue where I stopped" in html:
                self.client.post(path)
        else:
            self.client.post(path, self._answers(place))

    def _answers(self, place: str) -> dict[str, str]:
        return {
            "consent": {"consent": "yes"},
            "about": {
                "attr_gender": _GENDER[self.card["sex"]],
                "attr_politics": self.card["us_political_affiliation"].lower(),
            },
        }.get(place, {})

    @property
    def is_done(self) -> bool:
        return "You have finished" in self.page.content.decode()


class Researcher:
    """An editor who clicks what the pages propose."""

    def __init__(self, study) -> None:
        self.study = study
        self.client = Client()
        self.client.force_login(User.objects.create_superuser("ada"))

    def act(self, action: str) -> None:
        self._post("", {"action": action})

    def approve(self) -> None:
        chosen = self._proposed("approve")
        if chosen:
            self._post("-settle", {"action": "approve", "submission": chosen})
            self._post(
                "-settle",
                {"action": "approve", "submission": chosen, "confirmed": str(len(chosen))},
            )

    def ask_to_return(self) -> None:
        if chosen := self._proposed("return"):
            self._post(
                "-settle",
                {"action": "returns", "submission": chosen, "reason": "Your work is not whole."},
            )

    def pay(self) -> None:
        if chosen := self._proposed("bonus"):
            self._post("-bonuses", {"submission": chosen})
        for payment in BonusPayment.objects.filter(state__in=["prepared", "ready", "sent"]):
            data = {"payment": payment.pk, "sure": "yes"}
            action = {"prepared": "set_up", "ready": "pay", "sent": "release"}[payment.state]
            self._post("-bonuses", data | {"action": action, "total": str(payment.total)})

    def _proposed(self, name: str) -> list[int]:
        page = self.client.get(reverse("people:prolific-settle", args=[self.study.slug]))
        return [
            row.submission.pk
            for _, group, rows, _ in page.context["groups"]
            for row, _, _ in rows
            if group == name
        ]

    def _post(self, page: str, data: dict) -> None:
        url = reverse(f"people:prolific{page}", args=[self.study.slug])
        assert self.client.post(url, data, follow=True).status_code == 200


@pytest.fixture
def recruited(prolific, settings, monkeypatch) -> ProlificStudy:
    """Six places in six groups, webhooks subscribed; tasks are done at once."""
    row = published(with_quotas(make_recruiting(), each=1), LaunchPlan(balance=BALANCE))
    settings.PROLIFIC_WEBHOOK_SECRET = prolific.world.hook_secret = SECRET
    for event in ("submission.status.change", "study.status.change"):
        hook = prolific.world.subscribe({"event_type": event, "target_url": "https://x/"})
        prolific.world.confirm(hook.id, hook.secret)
    monkeypatch.setattr(
        handle_prolific_event, "delay_on_commit", lambda pk: handle_prolific_event(pk)
    )
    monkeypatch.setattr("annotation.prolific.money.SETTLES_WITHIN", dt.timedelta(0))
    prolific.world.show_study(row.prolific_id)
    return row


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("seed", range(8))
def test_any_history_ends_with_the_paid_places_and_every_seat_filled(
    seed, prolific, recruited, client
):
    row = recruited
    rng = random.Random(seed)
    world, slug = prolific.world, row.study.slug
    researcher = Researcher(row.study)
    people: list[Participant] = []

    def active() -> list[Participant]:
        return [p for p in people if world.submissions[p.session].status == "ACTIVE"]

    def happen() -> None:
        event = rng.choice(
            [
                "arrive",
                "work",
                "work",
                "work",
                "hand in",
                "no code",
                "return",
                "time out",
                "late",
                "hooks",
                "fault",
                "sync",
                "approve",
                "returns",
                "pay",
                "refill",
            ]
        )
        someone = rng.choice(active()) if active() else None
        if event == "arrive" and is_open() and len(active()) < 4:
            people.append(Participant(world.arrive(row.prolific_id), slug))
        elif event == "work" and someone:
            for _ in range(rng.randint(1, 6)):
                someone.step()
        elif event == "hand in" and someone and someone.is_done:
            world.finish(someone.session, someone.code)
        elif event == "no code" and someone and rng.random() < 0.3:
            world.finish(someone.session, "NOCODE")
        elif event == "return" and someone:
            world.give_back(someone.session)
        elif event == "time out" and someone:
            world.time_out(someone.session)
        elif event == "late" and people:
            for _ in range(8):
                rng.choice(people).step(comes_back=True)
        elif event == "hooks":
            if rng.random() < 0.3:
                world.outbox.clear()
            prolific.deliver(twice=rng.random() < 0.5, shuffle=True, post=lambda d: post(client, d))
        elif event == "fault":
            prolific.fault("*", "", rng.choice([f for f in FAULTS if f != "slow"]))
        elif event in ("sync", "refill"):
            researcher.act(event)
        elif event in ("approve", "returns", "pay"):
            {
                "approve": researcher.approve,
                "returns": researcher.ask_to_return,
                "pay": researcher.pay,
            }[event]()

    def is_open() -> bool:
        return world.show_study(row.prolific_id)["status"] == "ACTIVE"

    for _ in range(examples(10, every=60)):
        happen()
        assert max(Item.objects.values_list("seats_taken", flat=True)) <= SEATS
    prolific.faults.clear()
    finish_all(world, row, slug, people, researcher)

    statuses = [s.status for s in world.submissions.values()]
    assert statuses.count("APPROVED") == 6
    assert set(statuses) <= {"APPROVED", "RETURNED", "TIMED-OUT"}
    assert world.show_study(row.prolific_id)["status"] == "COMPLETED"
    counters = Item.objects.values_list("seats_taken", "answered")
    assert all(taken == done == SEATS for taken, done in counters)
    # Every paid person has answered all of their items, as counted or as surplus work.
    approved = [session for session, s in world.submissions.items() if s.status == "APPROVED"]
    paid_for = Annotation.objects.filter(
        assignment__annotator__prolific_submissions__submission_id__in=approved
    )
    assert paid_for.filter(standing__in=["counted", "surplus"]).count() == 6 * SEATS
    assert all(bulk["paid"] <= 1 for bulk in world.bonuses.values())
    assert all(len(s.bonuses) <= 1 and s.messages <= 1 for s in world.submissions.values())
    assert all(sum(s.bonuses) <= row.reward for s in world.submissions.values())
    assert all(c == t for c, t in QuotaGroup.objects.values_list("completed", "target"))


def finish_all(world, row, slug, people, researcher) -> None:
    """Who is under way finishes, free places are taken and worked off, and all is settled."""
    before = None
    for _ in range(12):
        if before == (before := all_that_counts(world)):
            return
        researcher.act("sync")
        for session, submission in world.submissions.items():
            if submission.status == "AWAITING REVIEW" and submission.return_requested:
                world.give_back(session)
        researcher.act("sync")
        researcher.act("refill")
        while True:
            for person in [p for p in people if world.submissions[p.session].status == "ACTIVE"]:
                for _ in range(12):
                    person.step(comes_back=True)
                    if person.is_done:
                        break
                world.finish(person.session, person.code)
            if world.show_study(row.prolific_id)["status"] != "ACTIVE":
                break
            people.append(Participant(world.arrive(row.prolific_id), slug))
        researcher.act("sync")
        researcher.approve()
        researcher.ask_to_return()
        researcher.pay()


def all_that_counts(world) -> list:
    """What a round of settling may change: once it changes nothing, no later one does."""
    people = [(s.status, s.return_requested, [*s.bonuses]) for s in world.submissions.values()]
    ours = [
        *ProlificSubmission.objects.values_list("pk", "status"),
        *BonusPayment.objects.values_list("pk", "state"),
        *QuotaGroup.objects.values_list("pk", "completed"),
    ]
    return [people, [study["status"] for study in world.studies.values()], ours]
