"""The pages of watched sets: the cost first, then a frozen set and what its looks show."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from extras.watching.looks import look_and_wait
from extras.watching.models import WatchedSet
from judging.models import Judgment
from tests.analysis.labelled_items import make_certifiable
from tests.extras.turning_off import refusal, turn_off
from tests.extras.watching.test_looks import moved, reply
from tests.factories import make_study, sign_in
from tests.judging.conftest import engine, judge, llm  # noqa: F401
from tests.judging.run_helpers import judge_all


@pytest.fixture
def run(judge, llm):  # noqa: F811
    llm.answer = reply
    return judge_all(make_certifiable(30), judge, setting="certainty")


@pytest.fixture
def client(run) -> Client:
    return sign_in(run.study)


def address(run, name, *more):
    return reverse(f"watching:{name}", args=[run.study.slug, *more])


def wish(of, **changes):
    fields = {
        "action": "new",
        "run": of.public_id,
        "items": "30",
        "at_once": "1",
        "every_days": "1",
    }
    return {**fields, "used_in": "", "seen": "", **changes}


def seen_in(page: str) -> str:
    [seen] = re.findall(r'name="seen" value="(\w+)"', page)
    return seen


def test_the_cost_is_shown_before_a_set_is_frozen(run, client):
    first = client.post(address(run, "list"), wish(run)).content.decode()

    assert "asks 30 questions (30 items, once)" in first
    assert not WatchedSet.objects.exists()
    seen = seen_in(first)
    other = client.post(address(run, "list"), wish(run, seen=seen, at_once="2")).content.decode()
    assert "changed since you saw it" in other
    assert not WatchedSet.objects.exists()
    frozen = client.post(address(run, "list"), wish(run, seen=seen))
    watched = WatchedSet.objects.get()
    assert frozen["Location"] == address(run, "show", watched.public_id)
    assert Judgment.everything.filter(anchor="again", state="pending").count() == 30
    page = client.get(frozen["Location"]).content.decode()
    assert "A round of the baseline is being asked" in page
    assert "is being asked. Wait until" in refusal(run.study, "watching")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"items": "2"}, "greater than or equal to 10"),
        ({"run": "none"}, "valid choice"),
        ({"used_in": "secret"}, "valid choice"),
    ],
)
def test_a_form_with_a_fault_is_shown_again(run, client, changes, words):
    make_study(slug="secret")

    refused = client.post(address(run, "list"), wish(run, **changes))

    assert refused.status_code == 422
    assert words in refused.content.decode()
    assert not WatchedSet.objects.exists()


@pytest.mark.nightly
def test_the_page_shows_what_moved_and_its_buttons_work(run, client, llm):  # noqa: F811
    wanted = wish(run, at_once="4")
    seen = seen_in(client.post(address(run, "list"), wanted).content.decode())
    client.post(address(run, "list"), wanted | {"seen": seen})
    watched = WatchedSet.objects.get()
    look_and_wait(watched, inline=True)
    before = client.get(address(run, "show", watched.public_id)).content.decode()
    llm.answer = moved
    for _ in range(3):
        look_and_wait(watched, inline=True)

    after = client.get(address(run, "show", watched.public_id)).content.decode()
    listed = client.get(address(run, "list")).content.decode()

    assert "✔ Nothing shown after 1 look." in before
    assert "▲ Judge moved" in after
    assert "▲ judge moved" in listed
    home = reverse("studies:detail", args=[run.study.slug])
    assert "Watched set of judge: judge moved." in client.get(home).content.decode()
    client.post(address(run, "show", watched.public_id), {"action": "read"})
    assert "Watched set of judge" not in client.get(home).content.decode()
    client.post(address(run, "show", watched.public_id), {"action": "look"})
    assert watched.looks.last().state == "asking"
    client.post(address(run, "show", watched.public_id), {"action": "stop"})
    stopped = client.get(address(run, "show", watched.public_id)).content.decode()
    assert "Watching was stopped on" in stopped
    assert "Look now" not in stopped


def test_watching_is_turned_off_and_keeps_its_sets(run):
    WatchedSet.objects.create(study=run.study, run=run, frozen={"items": []}, at_once=1)

    turn_off(run.study, "watching")

    assert WatchedSet.objects.count() == 1
