"""The preview in Chromium, the checks before the items, and endings that few people ever see."""

import pytest
from django.contrib.auth.models import User

from annotation.models import Annotator, Assignment, ComprehensionQuestion
from annotation.seats.completion_codes import ensure_codes
from studies.models import Membership
from tests.browser.annotators import add_quota, enter, make_everyday_study
from tests.browser.conftest import PHONE, fits_and_reads_well, scrolls_sideways
from tests.factories import make_item

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


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


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("javascript", [True, False], ids=["javascript", "no javascript"])
def test_the_check_and_the_practice_keep_the_rules(open_page, live_server, javascript):
    study = make_everyday_study(items=1)
    ComprehensionQuestion.objects.create(
        study=study,
        text="Whose answer do you give?",
        options=["My own", "The person's"],
        right=1,
        pointer="Answer as the person would.",
        position=1,
    )
    make_item(study=study, split="practice", first_person="r1")
    page = open_page(viewport=PHONE, javascript=javascript)

    def check(address):
        page.wait_for_url(address)
        assert page.locator("h1").count() == 1
        if javascript:
            fits_and_reads_well(page)
        else:
            assert not scrolls_sideways(page)

    enter(page, study)
    page.click("#consent-yes")
    page.wait_for_url("**/instructions/")
    page.click("#submit")
    check("**/quiz/1/")
    page.locator("[name=answer]").first.check()
    page.click("#submit")
    page.wait_for_selector("text=Answer as the person would.")
    check("**/quiz/1/")
    page.locator("[name=answer]").nth(1).check()
    page.click("#submit")
    check("**/practice/")
    page.check("#choice-a")
    page.fill("#certainty", "60")
    page.click("#submit")
    page.wait_for_selector("text=The person’s own answer")
    check("**/practice/")
    page.click("#submit")

    page.wait_for_url(lambda url: "/task/" in url)
    assert Annotator.objects.get().state == "annotating"
