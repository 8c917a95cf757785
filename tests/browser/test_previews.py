"""The preview in Chromium, and endings that few people ever see."""

import pytest
from django.contrib.auth.models import User

from annotation.models import Annotator, Assignment
from annotation.seats.flow import ensure_codes
from studies.models import Membership
from tests.browser.annotators import add_quota, enter, make_everyday_study
from tests.browser.conftest import PHONE, fits_and_reads_well

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(live_server):
    study = make_everyday_study(items=2)
    researcher = User.objects.create_user("researcher")
    Membership.objects.create(user=researcher, study=study)
    return study


def test_the_frames_show_the_pages_and_store_nothing(signed_in, study):
    page = signed_in(viewport=PHONE)

    page.goto(f"/studies/{study.slug}/people/preview/")

    phone = page.frame_locator("iframe >> nth=0")
    phone.locator("#choice-a").check()
    phone.locator("#certainty").fill("40")
    phone.locator("#submit").click()
    phone.get_by_text("2 of 2").wait_for()
    assert phone.locator("html").evaluate("document.documentElement.clientWidth") <= 390
    desktop = page.frame_locator("iframe >> nth=1")
    assert desktop.locator("html").evaluate("innerWidth") == 1280
    assert "A" in page.inner_text("pre")
    assert not Annotator.objects.exists()
    assert not Assignment.objects.exists()
    assert page.evaluate("Object.keys(localStorage).length") == 0


@pytest.mark.nightly
def test_every_page_of_the_preview_keeps_the_rules(signed_in, study):
    add_quota(study)
    page = signed_in(viewport=PHONE)

    for step in ("consent", "about", "instructions", "task", "feedback"):
        page.goto(f"/s/{study.slug}/preview/{step}/")
        fits_and_reads_well(page)
    page.goto(f"/studies/{study.slug}/people/preview/")
    fits_and_reads_well(page)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("state", ["quota_full", "disqualified", "failed_attention", "closed"])
def test_the_rare_endings_keep_the_rules_too(open_page, live_server, state):
    study = make_everyday_study(items=1)
    page = open_page(viewport=PHONE)
    enter(page, study)
    ensure_codes(study.pk)
    failed = state == "failed_attention"
    Annotator.objects.update(state="completed" if failed else state, failed_attention=failed)

    page.goto(f"/s/{study.slug}/done/")

    assert page.locator("h1").count() == 1
    assert page.locator("[data-code]").count() == 1
    fits_and_reads_well(page)


def test_a_draft_says_that_it_is_not_open_yet(open_page, live_server):
    study = make_everyday_study(items=1, state="draft")
    page = open_page(viewport=PHONE)

    enter(page, study)

    assert page.inner_text("h1") == "The study is not open yet"
    fits_and_reads_well(page)
