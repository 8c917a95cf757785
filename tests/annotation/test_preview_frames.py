"""The preview in frames: for the study's researchers, with the very prompt, and storing nothing."""

import html

import pytest
from django.test import Client

from annotation.models import Annotator, Assignment
from studies.models import Item
from studies.prompts import build_prompt
from tests.factories import make_item, make_study, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study()
    for _ in range(3):
        make_item(study=study)
    return study


@pytest.fixture
def researcher(study):
    return sign_in(study, "viewer")


def test_both_frames_show_the_item_beside_the_exact_prompt(researcher, study):
    page = researcher.get(f"/studies/{study.slug}/people/preview/?item=2").content.decode()

    item = Item.objects.filter(study=study).order_by("key")[1]
    prompt = build_prompt(item, setting="certainty", shown_first="r1")
    assert page.count(f'src="/s/{study.slug}/preview/task/?item=2"') == 2
    assert html.unescape(page.split('<pre tabindex="0">')[1].split("</pre>")[0]) == prompt
    assert not Annotator.objects.exists()
    assert not Assignment.objects.exists()


def test_only_the_preview_may_be_framed_and_only_by_this_site(researcher, study):
    framed = researcher.get(f"/s/{study.slug}/preview/task/")
    frames = researcher.get(f"/studies/{study.slug}/people/preview/")
    entry = Client().get(f"/s/{study.slug}/?PROLIFIC_PID=abc", follow=True)

    assert framed["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in framed["Content-Security-Policy"]
    assert "frame-src 'self'" in frames["Content-Security-Policy"]
    for page in (frames, entry):
        assert page["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in page["Content-Security-Policy"]


@pytest.mark.parametrize("step", ["consent", "task"])
def test_every_step_can_be_framed_and_no_other(researcher, study, step):
    assert researcher.get(f"/studies/{study.slug}/people/preview/done/").status_code == 404
    page = researcher.get(f"/studies/{study.slug}/people/preview/{step}/")

    assert page.status_code == 200
    assert f"/s/{study.slug}/preview/{step}/" in page.content.decode()


@pytest.mark.parametrize("item", ["0", "99", "x"])
def test_any_number_in_the_address_shows_an_item(researcher, study, item):
    page = researcher.get(f"/studies/{study.slug}/people/preview/?item={item}")

    assert page.status_code == 200
    assert "of 3" in page.content.decode()
