"""Researchers look at the pages, alone or in frames; nobody else does, and nothing is stored."""

import html

import pytest
from django.test import Client

from annotation.content.comprehension import set_questions, standard_questions
from annotation.models import Annotation, Annotator, Assignment
from annotation.participants.preview import STEPS
from studies.models import Item
from studies.prompts import build_prompt
from tests.factories import make_item, make_items, make_study, sign_in

pytestmark = pytest.mark.django_db
FRAMES = "/studies/{}/people/preview/"


@pytest.fixture
def study():
    study = make_study()
    make_items(study, 2)
    make_item(study=study, split="practice")
    set_questions(study_id=study.pk, questions=standard_questions(study))
    return study


@pytest.fixture
def researcher(study):
    return sign_in(study, "viewer")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("step", STEPS)
def test_every_page_can_be_previewed_and_is_labelled(researcher, study, step):
    type(study).objects.update(perspective="own" if step == "profile" else "persona")

    page = researcher.get(f"/s/{study.slug}/preview/{step}/")

    assert page.status_code == 200
    assert "No answer that you give here is stored" in page.content.decode()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("step", [*STEPS, "done"])
def test_nobody_else_sees_the_preview(study, step):
    stranger = sign_in(study, "")

    assert Client().get(f"/s/{study.slug}/preview/{step}/").status_code == 404
    assert stranger.get(f"/s/{study.slug}/preview/{step}/").status_code == 404
    assert stranger.post(f"/s/{study.slug}/preview/{step}/").status_code == 404


def test_answering_in_the_preview_continues_and_stores_nothing(researcher, study):
    url = f"/s/{study.slug}/preview/task/"

    first = researcher.post(url, {"choice": "a", "certainty": "70"})
    last = researcher.post(f"{url}?item=2", {"choice": "b", "certainty": "70"})

    assert (first.status_code, first["Location"]) == (303, f"{url}?item=2")
    assert last["Location"] == f"/s/{study.slug}/preview/feedback/"
    for model in (Annotator, Assignment, Annotation):
        assert not model.objects.exists()
    study.refresh_from_db()
    assert study.frozen_at is None


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("item", ["0", "99", "x", "²"])
def test_any_number_in_the_address_shows_an_item(researcher, study, item):
    page = researcher.get(f"/s/{study.slug}/preview/task/?item={item}")
    frames = researcher.get(f"{FRAMES.format(study.slug)}?item={item}")

    assert (page.status_code, frames.status_code) == (200, 200)
    assert 'id="choice-a"' in page.content.decode()
    assert "of 2" in frames.content.decode()


def test_a_study_without_items_says_so(researcher, study):
    study.all_items.all().delete()

    page = researcher.get(f"/s/{study.slug}/preview/task/")

    assert "There are no items yet" in page.content.decode()


def test_both_frames_show_the_item_beside_the_exact_prompt(researcher, study):
    page = researcher.get(f"{FRAMES.format(study.slug)}?item=2").content.decode()

    item = Item.objects.filter(study=study).order_by("key")[1]
    prompt = build_prompt(item, setting="certainty", shown_first="r1")
    assert page.count(f'src="/s/{study.slug}/preview/task/?item=2"') == 2
    assert html.unescape(page.split('<pre tabindex="0">')[1].split("</pre>")[0]) == prompt


def test_only_the_preview_may_be_framed_and_only_by_this_site(researcher, study):
    framed = researcher.get(f"/s/{study.slug}/preview/task/")
    frames = researcher.get(FRAMES.format(study.slug))
    entry = Client().get(f"/s/{study.slug}/?PROLIFIC_PID=abc", follow=True)

    assert framed["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in framed["Content-Security-Policy"]
    assert "frame-src 'self'" in frames["Content-Security-Policy"]
    for page in (frames, entry):
        assert page["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in page["Content-Security-Policy"]


@pytest.mark.parametrize(("step", "status"), [("consent", 200), ("task", 200), ("done", 404)])
def test_the_steps_of_a_study_can_be_framed_and_no_other(researcher, study, step, status):
    page = researcher.get(f"{FRAMES.format(study.slug)}{step}/")

    assert page.status_code == status
    assert (f"/s/{study.slug}/preview/{step}/" in page.content.decode()) == (status == 200)
