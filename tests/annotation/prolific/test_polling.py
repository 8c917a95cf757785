"""How often a study is read, by whom, and what recruiting asks of the researcher meanwhile."""

import datetime as dt

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from annotation.models import Annotator, Recruitment
from annotation.prolific.api.claims import reading
from annotation.prolific.api.client import connect
from annotation.prolific.launch import publication
from annotation.prolific.sync.polling import SAFETY_NET, SOON, follow_all, refresh
from annotation.prolific.sync.sync import follow
from annotation.prolific.sync.webhooks import subscribe
from annotation.researchers.recruitment_needs import recruitment_needs
from annotation.tasks import handle_prolific_event
from studies.models import Study
from studies.pages.workbench import Need
from tests.annotation.prolific.life import (
    SECRET,
    arrive,
    finish,
    make_recruiting,
    post,
    published,
    time_to_read,
)

pytestmark = pytest.mark.django_db


def wait_after_reading(study: Study) -> dt.timedelta:
    """Read the study now; how long it then waits."""
    time_to_read()
    assert follow_all() == 1
    due = Recruitment.objects.get(study=study).read_next_at
    assert follow_all() == 0  # not before it is due
    return dt.timedelta(minutes=round((due - timezone.now()) / dt.timedelta(minutes=1)))


@pytest.fixture
def subscribed(study, row, prolific, settings):
    """Webhooks reach us, as far as we know."""
    settings.PUBLIC_BASE_URL = "https://study.example.org"
    settings.PROLIFIC_WEBHOOK_SECRET = SECRET
    prolific.world.hook_secret = SECRET
    subscribe(study_id=study.pk)


@pytest.mark.nightly
def test_without_webhooks_a_quiet_study_is_read_less_and_less_often(study, row, prolific):
    follow(study_id=study.pk)
    waits = [wait_after_reading(study) for _ in range(5)]

    assert waits == [SOON * n for n in (2, 4, 8, 10, 10)]
    person, annotator = arrive(prolific, row)  # the change is read, then they are at work
    assert [wait_after_reading(study) for _ in range(3)] == [SOON] * 3
    finish(prolific, person, annotator)
    assert [wait_after_reading(study) for _ in range(2)] == [SOON, SOON * 2]


def test_with_webhooks_reading_is_a_safety_net(study, row, prolific, subscribed):
    follow(study_id=study.pk)
    person, _ = arrive(prolific, row)
    follow(study_id=study.pk)  # as the webhook would
    assert [wait_after_reading(study) for _ in range(2)] == [SAFETY_NET] * 2

    prolific.world.give_back(person["submission"])  # its webhook is lost
    assert wait_after_reading(study) == SOON
    assert wait_after_reading(study) == SAFETY_NET


@pytest.mark.nightly
def test_a_resting_study_is_read_once_an_hour_in_the_end(study, row, prolific):
    publication.change(study_id=study.pk, action="PAUSE")

    assert [wait_after_reading(study) for _ in range(7)][-1] == dt.timedelta(hours=1)
    publication.change(study_id=study.pk, action="START")
    assert follow_all() == 1  # a change from here is looked at soon


@pytest.mark.nightly
@pytest.mark.parametrize(("fault", "waits"), [("429_wait", 5), ("502_html", 1)])
def test_failures_wait_longer_each_time_and_as_long_as_prolific_asks(
    fault, waits, study, row, prolific
):
    found = Recruitment.objects.filter(study=study)
    prolific.fault("GET", "studies/", fault, times=50, seconds=300)
    for expected in (waits, max(waits, 2)):
        time_to_read()
        follow_all()
        left = found.get().read_next_at - timezone.now()
        assert round(left / dt.timedelta(minutes=1)) == expected
    prolific.faults.clear()

    assert wait_after_reading(study) == SOON
    assert found.get().last_error == ""


def test_two_workers_never_read_one_study_at_once(study, row, prolific):
    Recruitment.objects.update(checked_at=None, read_next_at=None)
    with reading(study.pk, connect(study.pk)):
        prolific.requests.clear()
        assert (follow_all(), refresh(study_id=study.pk)) == (0, False)
        assert prolific.requests == []

    assert follow_all() == 1


def needs(study: Study) -> list[Need]:
    return list(recruitment_needs(Study.objects.get(pk=study.pk), items=lambda: 6))


def press(need: Need) -> str:
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return client.post(need.address, need.sends, follow=True).content.decode()


def test_many_returns_are_a_line_with_a_press_that_pauses(
    study, row, prolific, subscribed, client, monkeypatch
):
    monkeypatch.setattr(handle_prolific_event, "delay_on_commit", handle_prolific_event)
    prolific.world.report_many_returns(row.prolific_id)
    prolific.deliver(post=lambda delivery: post(client, delivery))

    (need,) = needs(study)
    assert (need.is_urgent, need.button) == (True, "Pause recruitment")
    assert "Recruitment paused" in press(need)
    assert prolific.world.studies[row.prolific_id]["status"] == "PAUSED"
    (need,) = needs(study)
    assert (need.is_urgent, need.button) == (False, "Resume recruitment")


@pytest.mark.nightly
def test_an_automatic_pause_is_a_line_with_a_press_that_refills(prolific):
    row = published(make_recruiting(items=3, per_person=3))
    people = [arrive(prolific, row) for _ in range(3)]
    for person, annotator in people:
        finish(prolific, person, annotator)
    prolific.world.give_back(people[0][0]["submission"])
    follow(study_id=row.study_id)
    row.refresh_from_db()
    assert row.status == "PAUSED"

    (need,) = needs(row.study)

    assert "1 place is free again" in need.sentence
    assert "Study reopened for 1 more" in press(need)
    assert prolific.world.studies[row.prolific_id]["status"] == "ACTIVE"
    assert needs(row.study) == []


def test_missing_money_and_places_are_lines(study, row, prolific):
    """Two people came for whom no place was planned, so two places are missing."""
    Study.objects.update(items_per_annotator=2)
    prolific.world.balance = 100
    Recruitment.objects.update(account={})
    follow(study_id=study.pk)

    money, places = needs(study)

    assert "has $1.00 left" in money.sentence
    assert money.address.startswith("https://app.prolific.com/")
    assert places.button.startswith("Add ")
    shown = press(places)
    assert f"{places.sends['extra']} place" in shown
    assert prolific.world.studies[row.prolific_id]["total_available_places"] == row.places
    assert Annotator.objects.count() == 0
