"""The limit in Chromium: the notice comes by itself, and asking loses nothing."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Annotator
from tests.browser.annotators import enter_items, make_everyday_study
from tests.browser.conftest import PHONE, fits_and_reads_well

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(live_server):
    return make_everyday_study(items=2, minutes=20)


def leave(left: timedelta) -> None:
    Annotator.objects.update(expires_at=timezone.now() + left)


def test_the_notice_appears_on_a_page_that_stays_open_and_more_time_takes_it_away(open_page, study):
    page = open_page(timezone_id="Asia/Tokyo")
    page.clock.install()
    enter_items(page, study)
    leave(timedelta(minutes=25))
    page.reload()
    page.check("#choice-a")
    page.fill("#certainty", "30")
    assert not page.is_visible("#extend")

    page.clock.run_for("11:00")

    expect(page.locator("#extend")).to_be_visible()
    expect(page.locator("[data-deadline] time")).to_contain_text(":")
    leave(timedelta(minutes=14))
    page.click("#extend")
    expect(page.locator("#extend")).to_be_hidden()
    assert page.is_checked("#choice-a")
    assert page.input_value("#certainty") == "30"
    assert Annotator.objects.get().expires_at - timezone.now() > timedelta(minutes=30)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("javascript", [True, False], ids=["javascript", "no javascript"])
def test_the_notice_keeps_the_rules_and_works_without_javascript(open_page, study, javascript):
    page = open_page(viewport=PHONE, javascript=javascript)
    enter_items(page, study)
    leave(timedelta(minutes=5))
    page.reload()
    expect(page.locator("#extend")).to_be_visible()
    if javascript:
        fits_and_reads_well(page)

    page.click("#extend")

    expect(page.locator("#extend")).to_be_hidden()
    assert page.url.endswith("/task/1/")


def test_a_browser_that_hides_its_time_zone_shows_minutes_and_no_foreign_time(open_page, study):
    page = open_page(timezone_id="UTC")
    enter_items(page, study)
    leave(timedelta(minutes=5))

    page.goto(f"/s/{study.slug}/pause/")

    expect(page.locator("main time, .deadline time").last).to_contain_text("minutes")
    assert "UTC" not in page.inner_text("body")


def test_a_time_of_day_carries_its_zone(open_page, study):
    page = open_page(timezone_id="Asia/Tokyo", locale="en-GB")
    enter_items(page, study)
    leave(timedelta(minutes=5))

    for address in (page.url, f"/s/{study.slug}/pause/"):
        page.goto(address)
        expect(page.locator("main time, .deadline time").last).to_contain_text("GMT+9")
