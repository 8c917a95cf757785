"""Time: the limit and more of it, and breaks."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation import services
from annotation.errors import AlreadyEnded
from annotation.models import Annotator
from annotation.seats import flow
from annotation.services.endings import EXTENSIONS
from tests.annotation.pages.walking import arrive, post_answer
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db

NEAR = timedelta(minutes=10)
WARNING = "You have until"


@pytest.fixture
def study():
    study = make_study(items_per_annotator=20, minutes=20)
    make_items(study, 20)
    return study


def leave(annotator, left: timedelta) -> None:
    Annotator.objects.filter(pk=annotator.pk).update(expires_at=timezone.now() + left)


def notice(client, study, step="task"):
    """What stands in the notice of a page, if it shows."""
    page = client.get(f"/s/{study.slug}/{step}/").content.decode()
    box = page.split("data-deadline")[1].split("<main")[0]
    return "" if "hidden" in box.split(">")[1] + box.split(">")[2] else box


@pytest.mark.parametrize("step", ["task", "help", "withdraw"])
def test_near_the_limit_every_page_says_so_and_offers_more_time(client, study, step):
    assert notice(client, study, step) == ""

    leave(Annotator.objects.get(), NEAR)

    assert WARNING in notice(client, study, step)
    assert "I need more time" in notice(client, study, step)


def test_asking_for_more_time_gives_half_the_limit_and_leads_back_to_the_page(client, study):
    annotator = Annotator.objects.get()
    leave(annotator, NEAR)
    before = Annotator.objects.get().expires_at

    response = client.post(f"/s/{study.slug}/extend/", {"from": f"/s/{study.slug}/task/1/"})
    client.post(f"/s/{study.slug}/extend/")  # long before the limit now: nothing more

    annotator.refresh_from_db()
    assert (response.status_code, response["Location"]) == (303, f"/s/{study.slug}/task/1/")
    assert annotator.expires_at == before + flow.time_limit(study) / 2
    assert annotator.events.filter(event="extended").count() == 1
    assert notice(client, study) == ""


@pytest.mark.nightly
def test_more_time_is_given_ten_times_and_then_no_longer_offered(client, study):
    annotator = Annotator.objects.get()
    for _ in range(EXTENSIONS + 2):
        leave(annotator, NEAR)
        client.post(f"/s/{study.slug}/extend/")

    assert annotator.events.filter(event="extended").count() == EXTENSIONS == 10
    assert WARNING in notice(client, study)
    assert "I need more time" not in notice(client, study)


def test_asking_too_late_but_before_the_release_keeps_the_seats(client, study):
    annotator = Annotator.objects.get()
    leave(annotator, -timedelta(seconds=5))

    client.post(f"/s/{study.slug}/extend/")

    assert services.release_expired() == 0
    assert flow.step_of(Annotator.objects.get()) == "task"


def test_after_the_end_there_is_no_more_time(client, study):
    annotator = Annotator.objects.get()
    services.time_out(annotator_id=annotator.pk)

    with pytest.raises(AlreadyEnded):
        services.extend(annotator_id=annotator.pk)
    response = client.post(f"/s/{study.slug}/extend/")

    assert response["Location"] == f"/s/{study.slug}/done/"


def test_the_redirect_after_asking_never_leaves_the_study(client, study):
    leave(Annotator.objects.get(), NEAR)

    response = client.post(f"/s/{study.slug}/extend/", {"from": "//elsewhere.example/s/"})

    assert response["Location"] == f"/s/{study.slug}/task/"


@pytest.mark.parametrize(("entry", "said"), [("prolific", True), ("list", False)])
def test_only_people_from_the_platform_read_about_its_time_limit(entry, said):
    study = make_study(entry=entry)
    if entry == "list":
        study.invitations.create(key="5f1d3b2c4a6e7d8091a2b3c4")
    client = arrive(study)
    leave(Annotator.objects.get(), timedelta(minutes=1))

    assert ("The time limit that Prolific shows" in notice(client, study, "consent")) == said


BREAK = "This is a good moment for a break"


@pytest.mark.nightly
def test_a_break_is_offered_after_fifteen_items_and_needs_no_answer(client, study):
    page = client.get(f"/s/{study.slug}/task/")
    for done in range(1, 17):
        page = client.get(post_answer(client, page)["Location"])
        assert (BREAK in page.content.decode()) == (done == 15)

    pause = client.get(f"/s/{study.slug}/pause/").content.decode()
    assert "16 of 20 are done." in pause
