"""Every call × every fault: nothing is paid twice, made twice or lost, and the person is told."""

import datetime as dt
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotation.models import BonusPayment, ProlificStudy, ProlificSubmission
from annotation.prolific import money
from annotation.prolific.launch import launch
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.sync.sync import follow
from annotation.prolific.sync.webhooks import EVENTS
from demo.prolific.faults import FAULTS, RequestFault
from demo.prolific.world import ProlificWorld
from tests.annotation.prolific.life import (
    BALANCE,
    answer_some,
    arrive,
    finish,
    launched,
    make_recruiting,
    published,
    with_quotas,
)
from tests.sampling import some

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PLACES, COST = 6, 3780
# Each action of a person with every call that it makes.
CALLS = {
    "launch": [
        ("GET", "workspaces/"),
        ("GET", "projects/"),
        ("GET", "balance/"),
        ("GET", "reward-recommendations/"),
        ("GET", "filters/"),
        ("POST", "eligibility-count/"),
        ("POST", "study-cost-calculator/"),
        ("POST", "studies/"),
    ],
    "launch apart": [("GET", "participant-groups/"), ("POST", "participant-groups/")],
    "publish": [
        ("GET", "/cost/"),
        ("GET", "filters/"),
        ("GET", "studies/"),
        ("GET", "balance/"),
        ("POST", "transition/"),
    ],
    "pause": [("GET", "studies/"), ("POST", "transition/")],
    "places": [("GET", "studies/"), ("PATCH", "studies/")],
    "delete": [("GET", "studies/"), ("DELETE", "studies/")],
    "sync": [("GET", "studies/"), ("GET", "submissions/")],
    "approve": [("GET", "submissions/"), ("POST", "bulk-approve/")],
    "returns": [("POST", "request-return/")],
    "reject": [("GET", "submissions/"), ("POST", "transition/")],
    "set up": [("POST", "bonus-payments/")],
    "pay": [("GET", "submissions/"), ("POST", "/pay/")],
    "webhooks": [
        ("GET", "hooks/secrets/"),
        ("POST", "hooks/secrets/"),
        ("GET", "hooks/subscriptions/"),
        ("POST", "hooks/subscriptions/"),
        ("POST", "hooks/subscriptions/CONFIRM"),
    ],
}
# What a sentence to a person says besides what happened.
TO_DO = (
    r"[Tt]ry again|Check |Wait a minute|looked up|prolific sync|[Ll]ook again|Type |Load the page"
    r"|To find out, run: "
)


class Person:
    """A researcher at the pages, and at the command line for what has no page."""

    def __init__(self, study, prolific) -> None:
        self.study = study
        self.prolific = prolific
        self.client = Client()
        self.client.force_login(User.objects.create_superuser("ada"))
        self.sessions: dict[str, str] = {}

    def do(self, action: str) -> str:
        """Do it once and return what the page says then."""
        if action == "webhooks":
            return self._command()
        page, data = self._form(action)
        url = reverse(f"people:prolific{page}", args=[self.study.slug])
        response = self.client.post(url, data, follow=True)
        assert response.status_code in (200, 422)
        return " ".join(str(message) for message in response.context["messages"])

    def _command(self) -> str:
        try:
            call_command("prolific", "webhooks", self.study.slug)
        except CommandError as told:
            return str(told)
        return "Subscribed."

    def _form(self, action: str) -> tuple[str, dict]:
        payment = BonusPayment.objects.last()
        paying = {"payment": payment and payment.pk, "sure": "yes", "total": "210"}
        message = "You answered every question within a second, so nothing was read. " * 2
        forms: dict[str, tuple[str, dict]] = {
            "launch": ("-launch", {}),
            "launch apart": ("-launch", {}),
            "publish": ("-publish", {"sum": "37.80"}),
            "pause": ("", {"action": "PAUSE"}),
            "places": ("", {"action": "places", "extra": "2", "seen": str(PLACES), "sure": "yes"}),
            "delete": ("", {"action": "forget"}),
            "sync": ("", {"action": "sync"}),
            "approve": (
                "-settle",
                {"action": "approve", "submission": self._ids("done"), "confirmed": "1"},
            ),
            "returns": (
                "-settle",
                {"action": "returns", "submission": self._ids("empty"), "reason": "No answers."},
            ),
            "reject": (
                "-reject",
                {
                    "submission": self._ids("done"),
                    "reject": "yes",
                    "category": "LOW_EFFORT",
                    "message": message,
                },
            ),
            "set up": (
                ("-bonuses", paying | {"action": "set_up"})
                if payment
                else ("-bonuses", {"submission": self._ids("part")})
            ),
            "pay": ("-bonuses", paying | {"action": "pay"}),
        }
        return forms[action]

    def _ids(self, who: str) -> list[int]:
        found = ProlificSubmission.objects.filter(submission_id=self.sessions.get(who, ""))
        return list(found.values_list("pk", flat=True))


def prepare(action: str, prolific) -> Person:
    """A study that has come as far as the action needs."""
    study = make_recruiting()
    person = Person(study, prolific)
    if action == "launch apart":
        with_quotas(study, each=1)
        launch.save_plan(study_id=study.pk, plan=LaunchPlan(balance=BALANCE, apart=True))
    elif action == "launch":
        launch.save_plan(study_id=study.pk, plan=LaunchPlan())
    elif action in ("publish", "delete", "webhooks"):
        launched(study)
    else:
        row = published(study)
        person.sessions = people(prolific, row)
        follow(study_id=study.pk)
    if action == "pay":
        person.do("set up")
    prolific.requests.clear()
    return person


def people(prolific, row) -> dict[str, str]:
    """One who is done, one who returned with a part, one with nothing."""
    done, annotator = arrive(prolific, row)
    finish(prolific, done, annotator)
    part, annotator = arrive(prolific, row)
    answer_some(annotator, 1)
    prolific.world.give_back(part["submission"])
    empty = prolific.world.arrive(row.prolific_id)
    prolific.world.finish(empty["submission"], "NOCODE")
    return {
        "done": done["submission"],
        "part": part["submission"],
        "empty": empty["submission"],
    }


def wait_until_idle(prolific) -> None:
    deadline = time.monotonic() + 60
    while prolific.under_way:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def settle_doubts(person: Person, action: str, monkeypatch) -> None:
    """What the worker and a person do about an outcome that is not known."""
    ProlificSubmission.objects.filter(approval_asked_at__isnull=False).update(
        approval_asked_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    )
    if ProlificStudy.objects.filter(prolific_id__isnull=False).exists():
        follow(study_id=person.study.pk)
        follow(study_id=person.study.pk)
    if action == "pay" and BonusPayment.objects.get().state == "sent":
        monkeypatch.setattr(money, "SETTLES_WITHIN", dt.timedelta(0))
        money.release(payment_id=BonusPayment.objects.get().pk)
        person.do("pay")
    if action == "returns":
        # What was read shows whether the message was sent; only if it was not, it is sent now.
        person.do("returns")


def check_nothing_twice(prolific, *, studies: int) -> None:
    world = prolific.world
    assert len(world.studies) == studies
    assert len(world.groups) <= 1
    spent = sum(
        world.total_cost(s["reward"], s["total_available_places"])
        for s in world.studies.values()
        if s["published_at"]
    )
    assert world.balance == 10_000_000 - spent
    assert all(bulk["paid"] <= 1 for bulk in world.bonuses.values())
    assert all(len(s.bonuses) <= 1 and s.messages <= 1 for s in world.submissions.values())
    assert len({(hook.event, hook.url) for hook in world.hooks.values()}) == len(world.hooks)


def check_done(person: Person, action: str) -> None:
    """Whatever went wrong: what the person wanted has happened in the end."""
    world = person.prolific.world
    if action in ("launch", "launch apart", "delete"):
        assert {row.prolific_id for row in ProlificStudy.objects.all()} == set(world.studies)
        return
    (study,) = world.studies.values()
    row = ProlificStudy.objects.get()
    by = person.sessions
    status = {name: world.submissions[session].status for name, session in by.items()}
    wanted = {
        "publish": lambda: world.show_study(study["id"])["status"] == "ACTIVE",
        "pause": lambda: study["status"] == row.status == "PAUSED",
        "places": lambda: study["total_available_places"] == row.places == PLACES + 2,
        "sync": lambda: row.seen_at is not None,
        "approve": lambda: status["done"] == "APPROVED",
        "returns": lambda: world.submissions[by["empty"]].messages == 1,
        "reject": lambda: status["done"] == "REJECTED",
        "set up": lambda: BonusPayment.objects.get().state == "ready",
        "pay": lambda: world.submissions[by["part"]].bonuses == [150],
        "webhooks": lambda: {h.event for h in world.hooks.values() if h.confirmed} == {*EVENTS},
    }
    assert wanted[action]()


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    ("action", "method", "path"),
    [(action, *call) for action, calls in CALLS.items() for call in calls],
    ids=lambda value: value.replace("/", " ").strip(),
)
def test_no_fault_does_anything_twice_or_loses_it(
    action, method, path, prolific, settings, tmp_path, subtests
):
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    remembered = tmp_path / "prolific.json"
    prolific.world = ProlificWorld(path=remembered)
    person = prepare(action, prolific)
    prolific.world.save()

    for fault in some(FAULTS, keep=5):
        with (
            subtests.test(fault=fault),
            undone(prolific, remembered),
            pytest.MonkeyPatch.context() as patched,
        ):
            go_through(person, action, (method, path), fault, settings, patched)


@contextmanager
def undone(prolific, remembered: Path) -> Iterator[None]:
    """What happens inside has not happened afterwards, neither here nor on Prolific."""
    there, here = remembered.read_text("utf-8"), transaction.savepoint()
    try:
        yield
    finally:
        wait_until_idle(prolific)
        transaction.savepoint_rollback(here)
        remembered.write_text(there, "utf-8")
        prolific.world = ProlificWorld(path=remembered)
        prolific.faults.clear()
        prolific.requests.clear()


def go_through(
    person: Person, action: str, call: tuple[str, str], fault: str, settings, patched
) -> None:
    """Do the action while the call meets the fault, then once more, and look what came of it."""
    prolific, (method, path) = person.prolific, call
    if path.endswith("CONFIRM"):
        # The subscription is made; its confirmation is the next request that matches.
        patched.setattr(prolific.faults, "take", only_confirming(fault))
    else:
        prolific.fault(method, path, fault, seconds=1.0)

    # Impatient with the slow answer alone: other work on this machine may hold up any.
    settings.PROLIFIC_TIMEOUT = 0.5 if fault == "slow" else 5.0
    told = person.do(action)
    settings.PROLIFIC_TIMEOUT = 5.0
    wait_until_idle(prolific)
    asked = list(prolific.requests)
    told_again = person.do(action)
    settle_doubts(person, action, patched)

    assert any(line.startswith(f"{method} ") for line in asked)
    assert told
    if "Prolific" in told and re.search(r"cannot|error|answer|accept|find|fewer", told):
        assert re.search(TO_DO, told), told
    assert prolific.token not in told + told_again
    studies = {"launch apart": 6, "delete": 0}.get(action, 1)
    check_nothing_twice(prolific, studies=studies)
    check_done(person, action)


def only_confirming(name: str):
    """Spoils the confirmation of a subscription, whose path begins as that of its making."""
    left = [RequestFault("POST", "hooks/subscriptions/", name, 1, 0.5)]

    def take(method: str, path: str) -> RequestFault | None:
        is_confirming = method == "POST" and re.fullmatch(r"hooks/subscriptions/[0-9a-f]+/", path)
        return left.pop() if is_confirming and left else None

    return take


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("action", CALLS)
def test_the_table_holds_every_call_that_an_action_makes(action, prolific, settings):
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    person = prepare(action, prolific)

    person.do(action)

    known = {call for calls in CALLS.values() for call in calls}
    for line in prolific.requests:
        method, path = line.split()
        assert any(verb == method and part.removesuffix("CONFIRM") in path for verb, part in known)
    for verb, part in CALLS[action]:
        made = [line for line in prolific.requests if line.startswith(f"{verb} ")]
        assert any(part.removesuffix("CONFIRM") in line for line in made), (verb, part)
