"""The whole way without Prolific: by an open link, or by a list of invited ids."""

import re
from html import unescape

import pytest
from django.test import Client

from annotation import services
from annotation.models import (
    Annotation,
    Annotator,
    DemographicQuestion,
    Invitation,
    QuotaGroup,
)
from studies.models import Study
from tests.annotation.pages.walking import answer_all, post_answer
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db


def make_open(entry: str, **overrides):
    study = make_study(entry=entry, items_per_annotator=3, annotations_per_item=1, **overrides)
    make_items(study, 3)
    return study


def come(study, client=None, pid="student-7") -> Client:
    """Enter as the study is entered, and agree."""
    client = client or Client()
    if study.entry == "list":
        Invitation.objects.get_or_create(study=study, key=pid)
        client.get(f"/s/{study.slug}/?PROLIFIC_PID={pid}")
    else:
        client.post(f"/s/{study.slug}/")
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    return client


def finish(study, client) -> str:
    client.post(f"/s/{study.slug}/instructions/")
    answer_all(client, study)
    return client.post(f"/s/{study.slug}/feedback/", follow=True).content.decode()


@pytest.mark.parametrize("entry", ["link", "list"])
def test_the_whole_way_ends_on_a_page_and_sends_nobody_to_prolific(entry):
    study = make_open(entry)

    page = finish(study, come(study))

    annotator = Annotator.objects.get()
    assert annotator.state == "completed"
    assert annotator.pseudonym in page
    assert "rolific" not in page
    assert set(Annotation.objects.values_list("standing", flat=True)) == {"counted"}


@pytest.mark.nightly
def test_the_code_leads_to_the_open_item_with_its_draft_and_to_the_end_page():
    study = make_open("link")
    client = come(study)
    client.post(f"/s/{study.slug}/instructions/")
    post_answer(client, client.get(f"/s/{study.slug}/task/"))
    annotator = Annotator.objects.get()
    waiting = annotator.assignments.get(position=2)
    services.save_draft(
        annotator_id=annotator.pk, assignment_id=waiting.pk, stamp="0.0", certainty="41"
    )

    other = Client()
    typed = f" {annotator.resume_code.lower()} "
    there = other.post(f"/s/{study.slug}/", {"code": typed}, follow=True)
    page = there.content.decode()

    assert "2 of 3" in page
    assert 'value="41"' in page
    finish(study, other)
    third = Client()
    end = third.post(f"/s/{study.slug}/", {"code": annotator.resume_code}, follow=True)
    assert "You have finished. Thank you." in end.content.decode()


@pytest.mark.nightly
def test_the_people_of_a_class_share_a_browser_one_after_another():
    study = make_open("link")
    client = come(study)
    assert "Start as another person" in finish(study, client)

    started = client.post(f"/s/{study.slug}/")
    assert started["Location"] == f"/s/{study.slug}/consent/"
    finish(study, come(study, client))

    assert Annotator.objects.filter(state="completed").count() == 2
    standings = Annotation.objects.values_list("standing", flat=True)
    assert sorted(standings) == ["counted"] * 3 + ["surplus"] * 3


def test_after_a_refusal_the_device_is_free_for_the_next_person():
    study, client = make_open("link"), Client()
    client.post(f"/s/{study.slug}/")

    end = client.post(f"/s/{study.slug}/consent/", {"consent": "no"}, follow=True)

    page = end.content.decode()
    assert "Nothing about you is kept." in page
    assert "Start as another person" in page
    assert client.post(f"/s/{study.slug}/")["Location"] == f"/s/{study.slug}/consent/"


def test_a_second_press_on_start_creates_one_annotator():
    study = make_open("link")
    page = Client().get(f"/s/{study.slug}/").content.decode()
    pressed = {"start": unescape(re.search(r'name="start" value="([^"]+)"', page)[1])}

    for browser in (Client(), Client()):
        browser.post(f"/s/{study.slug}/", pressed)
    Client().post(f"/s/{study.slug}/", {"start": "forged"})

    assert Annotator.objects.count() == 2


@pytest.mark.nightly
def test_a_code_leads_to_its_annotator_even_in_somebody_elses_browser():
    study = make_open("link")
    first, second = come(study), come(study)
    code = Annotator.objects.last().resume_code
    finish(study, second)

    led = first.post(f"/s/{study.slug}/", {"code": code})

    assert led["Location"] == f"/s/{study.slug}/done/"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("entry", ["link", "list"])
def test_after_a_time_out_people_outside_prolific_continue_immediately(entry):
    study = make_open(entry)
    client = come(study)
    client.post(f"/s/{study.slug}/instructions/")
    post_answer(client, client.get(f"/s/{study.slug}/task/"))
    annotator = Annotator.objects.get()
    services.time_out(annotator_id=annotator.pk)

    if entry == "list":
        back = client.get(f"/s/{study.slug}/?PROLIFIC_PID=student-7", follow=True)
    else:
        code = annotator.resume_code
        back = Client().post(f"/s/{study.slug}/", {"code": code}, follow=True)

    assert "2 of 3" in back.content.decode()
    assert Annotator.objects.get().state == "annotating"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("entry", ["link", "list"])
def test_people_of_a_full_group_are_told_before_any_work(entry):
    study = make_open(entry)
    DemographicQuestion.objects.create(
        study=study, key="g", label="Gender?", options=[{"value": "w", "label": "Woman"}]
    )
    QuotaGroup.objects.create(study=study, is_everyone_else=True, target=0)
    client = come(study)

    page = client.post(f"/s/{study.slug}/about/", {"attr_g": "w"}, follow=True).content.decode()

    assert "This group is already complete" in page
    assert "Prolific" not in page


def test_the_resume_code_is_shown_wherever_people_may_leave():
    study = make_open("link")
    client = come(study)
    code = Annotator.objects.get().resume_code

    for step in ("consent", "pause", "help"):
        assert code in client.get(f"/s/{study.slug}/{step}/").content.decode()


ORIGINS = [("prolific", "a" * 24), ("list", "student-7"), ("link", "")]


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("now", ["prolific", "list", "link"])
@pytest.mark.parametrize(("entry", "pid"), ORIGINS)
def test_everybody_returns_by_their_own_link_after_the_entry_has_changed(entry, pid, now):
    """To their part, and to the withdrawal: with a session or a code also on another device.

    An id of a list is known to others, so it needs the browser in which the part began.
    """
    study = make_open(entry)
    device = Client()
    if entry == "prolific":
        link = f"/s/{study.slug}/?PROLIFIC_PID={pid}&STUDY_ID=st1&SESSION_ID=se1"
        Client().get(link)
    else:
        browser = come(study, pid=pid)
        device = browser if entry == "list" else device
        person = Annotator.objects.get()
        query = f"PROLIFIC_PID={pid}" if pid else f"code={person.resume_code}"
        link = f"/s/{study.slug}/?{query}"
    Study.objects.update(entry=now)

    arrived = device.get(link, follow=True)
    device.post(f"/s/{study.slug}/withdraw/")

    assert arrived.status_code == 200
    person = Annotator.objects.get()
    assert person.state in ("withdrew", "declined")


def test_people_from_prolific_finish_there_after_the_entry_has_changed():
    study = make_open("prolific")
    client = Client()
    client.get(f"/s/{study.slug}/?PROLIFIC_PID={'a' * 24}&STUDY_ID=st1&SESSION_ID=se1")
    client.post(f"/s/{study.slug}/consent/", {"consent": "yes"})
    Study.objects.update(entry="link")

    assert "https://app.prolific.com/submissions/complete?cc=" in finish(study, client)
