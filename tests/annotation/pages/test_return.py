"""Whoever comes back, on any device, is at their first unfinished step; Back is always safe."""

import pytest
from django.test import Client

from annotation import services
from annotation.content.comprehension import set_questions, standard_questions
from annotation.models import Annotator, DemographicQuestion
from tests.annotation.pages.walking import arrive, entry_url, post_answer
from tests.factories import make_item, make_items, make_study

pytestmark = pytest.mark.django_db

BEFORE = ["consent", "about", "instructions", "quiz", "practice", "task", "feedback", "done"]


@pytest.fixture
def study():
    """A study with every step that there is."""
    study = make_study(items_per_annotator=2)
    make_items(study, 2)
    make_item(study=study, split="practice", key="try")
    set_questions(study_id=study.pk, questions=standard_questions(study)[:1])
    DemographicQuestion.objects.create(
        study=study, key="g", label="Gender?", options=[{"value": "w", "label": "Woman"}]
    )
    return study


def way(study, client):
    """Go the whole way; yields the address where the person stands after every step."""
    base = f"/s/{study.slug}"
    yield f"{base}/consent/"
    client.post(f"{base}/consent/", {"consent": "yes"})
    yield f"{base}/about/"
    client.post(f"{base}/about/", {"attr_g": "w"})
    yield f"{base}/instructions/"
    client.post(f"{base}/instructions/")
    yield f"{base}/quiz/1/"
    client.post(f"{base}/quiz/1/", {"answer": study.comprehension_questions.get().right})
    yield f"{base}/practice/"
    client.post(f"{base}/practice/", {"choice": "a", "certainty": "50"})
    client.post(f"{base}/practice/", {"understood": "try"})
    yield f"{base}/task/"
    post_answer(client, client.get(f"{base}/task/"))
    yield f"{base}/task/"
    post_answer(client, client.get(f"{base}/task/"))
    yield f"{base}/feedback/"
    client.post(f"{base}/feedback/")
    yield f"{base}/done/"


@pytest.mark.nightly
def test_every_device_opens_the_first_unfinished_step(study):
    stood = []
    for address in way(study, arrive(study)):
        page = Client().get(entry_url(study), follow=True)
        stood.append(page.request["PATH_INFO"])
        assert (stood[-1], page.status_code) == (address, 200)

    assert len(stood) == 9
    assert Annotator.objects.get().state == "completed"


@pytest.mark.nightly
def test_going_back_from_any_step_moves_nobody_and_breaks_nothing(study):
    client = arrive(study)
    for address in way(study, client):
        before = Annotator.objects.get().state
        for step in BEFORE:
            page = client.get(f"/s/{study.slug}/{step}/", follow=True)
            assert page.status_code == 200, (address, step)
        assert Annotator.objects.get().state == before
        assert client.get(f"/s/{study.slug}/", follow=True).request["PATH_INFO"] == address


@pytest.mark.nightly
def test_sending_an_earlier_step_again_moves_nobody_and_breaks_nothing(study):
    client = arrive(study)
    sent = [
        ("consent", {"consent": "yes"}),
        ("about", {"attr_g": "w"}),
        ("instructions", {}),
        ("quiz/1", {"answer": "0"}),
        ("practice", {"choice": "a", "certainty": "50"}),
        ("practice", {"understood": "try"}),
    ]
    for number, address in enumerate(way(study, client)):
        state = Annotator.objects.get().state
        for step, fields in sent[:number]:
            client.post(f"/s/{study.slug}/{step}/", fields)
        if state != "qualified":  # There the practice itself goes on.
            assert Annotator.objects.get().state == state, address

    assert Annotator.objects.get().state == "completed"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("event", ["time_out", "mark_returned"])
def test_returning_after_losing_the_place_continues_at_the_first_open_item(study, event):
    client = arrive(study)
    for address in way(study, client):
        if address.endswith("/task/") and Annotator.objects.get().assignments.exclude(
            annotation=None
        ):
            break
    getattr(services, event)(annotator_id=Annotator.objects.get().pk)

    device = Client()
    device.get(entry_url(study), follow=True)
    resumed = device.post(f"/s/{study.slug}/done/", follow=True)

    assert "2 of 2" in resumed.content.decode()
