"""Drafts over HTTP: one device saves, the next one shows, and nobody else may write."""

import re
from datetime import timedelta

import pytest

from annotation.models import Annotation, Assignment, Draft
from annotation.participants.forms import assignment_token, read_assignment_token
from tests.annotation.pages.walking import arrive, post_answer, start, token_of
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study(items_per_annotator=2)
    make_items(study, 2)
    return study


def item_page(client, study, position=1):
    return client.get(f"/s/{study.slug}/task/{position}/")


def stamp_on(page):
    return re.search(r'data-stamp="([^"]+)"', page.content.decode())[1]


def save(client, page, **entries):
    """Save a draft of a page that was shown a second ago."""
    token = read_assignment_token(token_of(page))
    shown = Assignment.objects.get(pk=token.assignment_id)
    earlier = assignment_token(shown, shown_at=token.shown_at - timedelta(seconds=1))
    data = {"assignment": earlier, "stamp": stamp_on(page), "active_ms": "900"} | entries
    return client.post(f"{page.request['PATH_INFO']}draft/", data)


def test_a_draft_from_one_device_shows_on_another(client, study):
    saved = save(client, item_page(client, study), choice="b", certainty="7 %")

    page = item_page(arrive(study), study).content.decode()

    assert (saved.status_code, saved.json()["stamp"]) == (200, "0.1")
    assert re.search(r'value="b" id="choice-b"[^>]*checked', page)
    assert re.search(r'id="certainty"[^>]*value="7 %"', page)
    assert 'data-spent="900"' in page
    assert not Annotation.objects.exists()


def test_the_slower_of_two_tabs_gets_the_stored_draft(client, study):
    first, second = item_page(client, study), item_page(client, study)
    save(client, first, choice="a")

    late = save(client, second, choice="", certainty="41")

    assert late.status_code == 409
    assert late.json() == {"stamp": "0.1", "choice": "a", "certainty": "", "active_ms": 900}
    assert Draft.objects.get().certainty == ""
    merged = save(client, second, stamp=late.json()["stamp"], choice="a", certainty="41")
    assert merged.status_code == 200
    assert (Draft.objects.get().certainty, Draft.objects.get().version) == ("41", 2)


def test_an_unsaved_change_to_an_answer_is_shown_and_labelled(client, study):
    post_answer(client, item_page(client, study), choice="a", certainty="72")
    page = item_page(client, study)

    save(client, page, choice="a", certainty="30")

    shown = item_page(client, study).content.decode()
    assert "have not saved the change yet" in shown
    assert re.search(r'id="certainty"[^>]*value="30"', shown)
    assert Annotation.objects.get().certainty == 72


def test_a_draft_of_somebody_else_is_not_found(client, study):
    page = item_page(client, study)
    other = start(study, "somebody-else")

    assert save(other, page, choice="a").status_code == 404
    assert not Draft.objects.exists()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    "entries", [{"choice": "r1"}, {"certainty": "x" * 21}, {"stamp": ""}, {"stamp": "9" * 31}]
)
def test_a_draft_that_is_malformed_is_refused(client, study, entries):
    assert save(client, item_page(client, study), **entries).status_code == 422
    assert not Draft.objects.exists()


def test_a_draft_cannot_be_read_by_get(client, study):
    assert client.get(f"/s/{study.slug}/task/1/draft/").status_code == 405
