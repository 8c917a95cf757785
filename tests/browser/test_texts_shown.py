"""Folded texts, translations, the slider and times of day in Chromium."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation import services
from annotation.models import Annotation, Annotator
from studies.models import Item
from tests.browser.annotators import enter_items, make_everyday_study
from tests.browser.conftest import DESKTOP, PHONE, fits_and_reads_well

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = "This is one of the many sentences of a long response. " * 60
# What Chrome does to a page that it translates; its styles are not bound by the page's policy.
TRANSLATE = """(selector) => {
  document.documentElement.classList.add("translated-ltr");
  document.documentElement.lang = "de";
  for (const part of document.querySelectorAll(selector)) {
    part.innerHTML = '<font><font>Übersetzt</font></font>';
  }
}"""


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_long_responses_unfold_together_by_keyboard(open_page, live_server, viewport):
    study = make_everyday_study(items=1)
    Item.objects.update(r1={"text": LONG})
    page = open_page(viewport=viewport)
    enter_items(page, study)
    height = "[...document.querySelectorAll('.card-text')].map((each) => each.offsetHeight)"
    assert max(page.evaluate(height)) < 400
    fits_and_reads_well(page)
    page.set_viewport_size(viewport)

    page.get_by_role("button", name="Show all of the responses").focus()
    page.keyboard.press("Enter")

    assert max(page.evaluate(height)) > 900
    expect(page.get_by_role("button", name="Show all of the responses")).to_have_count(0)
    assert page.evaluate("document.activeElement.className") == "cards"
    page.keyboard.press("a")
    expect(page.locator("#choice-a")).to_be_checked()


def test_without_scripts_nothing_is_folded(open_page, live_server):
    study = make_everyday_study(items=1, phone_features="age, sex")
    Item.objects.update(r1={"text": LONG}, question=LONG)
    page = open_page(viewport=PHONE, javascript=False)

    enter_items(page, study)

    assert page.locator(".unfold").count() == 0
    assert page.locator(".is-more").first.is_visible()
    for part in (".card-text", ".question"):
        box = page.locator(part).first.bounding_box()
        assert box
        assert box["height"] != pytest.approx(21 * 16, abs=2)


def test_a_phone_opens_the_rest_of_a_profile_by_a_press(open_page, live_server):
    study = make_everyday_study(items=1, phone_features="age, sex")
    page = open_page(viewport=PHONE)
    enter_items(page, study)
    expect(page.get_by_text("Repairs old bicycles").first).to_be_hidden()
    page.click(".chip-person")
    expect(page.locator("#profile-dialog").get_by_text("Repairs old bicycles")).to_be_visible()
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Show the whole profile").click()

    expect(page.get_by_text("Repairs old bicycles").first).to_be_visible()


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    ("selector", "stored"),
    [(".imported, h1", "texts"), ("legend h1", "page"), (".nothing", "page"), ("", "")],
)
def test_a_translated_page_is_noticed_and_stored(open_page, live_server, selector, stored):
    study = make_everyday_study(items=2)
    page = open_page()
    enter_items(page, study)
    if selector:
        page.evaluate(TRANSLATE, selector)

    page.check("#choice-a")
    page.fill("#certainty", "60")
    page.click("#submit")
    page.wait_for_url("**/task/2/")

    assert Annotation.objects.get().translated == stored


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("width", [1100, 1219, 1220, 1280, 1366, 1440])
def test_the_slider_is_long_enough_on_a_laptop(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.check("#choice-a")
    page.fill("#certainty", "72")

    box = page.get_by_role("slider").bounding_box()
    assert box
    assert box["width"] >= 320


def test_who_ran_out_of_time_returns_to_prolific_after_a_longer_while(open_page, study):
    page = open_page()
    page.route("https://app.prolific.com/**", lambda route: route.fulfill(body="Thank you"))
    page.clock.install()
    enter_items(page, study)
    services.time_out(annotator_id=Annotator.objects.get().pk)
    page.goto(f"/s/{study.slug}/done/")
    expect(page.locator("[data-home]")).to_contain_text("by itself in 20 seconds")

    page.clock.run_for("00:21")

    page.wait_for_url("https://app.prolific.com/submissions/complete?cc=*")


def test_pages_say_local_times_and_never_utc(open_page, study):
    page = open_page(timezone_id="Asia/Tokyo", locale="en-GB")
    enter_items(page, study)
    Annotator.objects.update(expires_at=timezone.now() + timedelta(minutes=5))

    for address in (page.url, f"/s/{study.slug}/pause/", f"/s/{study.slug}/consent/copy/"):
        page.goto(address)
        expect(page.locator("main time, .deadline time").last).to_contain_text("GMT+9")
        assert "UTC" not in page.inner_text("body")
