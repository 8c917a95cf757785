"""An expert decides in Chromium by keys on a phone; a draft stays on the device."""

import os

import pytest
from playwright.sync_api import expect

from extras.label_models.models import ExpertDecision
from studies.models import Study
from tests.browser.conftest import PHONE, fits_and_reads_well
from tests.extras.in_browser import browser, open_page, signed_in
from tests.extras.label_models.splits import make_split_study, sent

__all__ = ["browser", "open_page", "signed_in"]

pytestmark = [
    pytest.mark.sampled(keep=1, group="label models in in browsers"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


def pictured(page, name):
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.parametrize("javascript", [True, False])
def test_an_expert_decides_changes_and_takes_back(open_page, live_server, javascript):
    study = make_split_study(language="de", contact="lab@example.org")
    [(expert, key)] = sent(study, "Ada", below=100)
    page = open_page(viewport=PHONE, javascript=javascript)
    page.goto(f"{live_server.url}/adjudicate/{expert.public_id}/?key={key}")
    if javascript:
        fits_and_reads_well(page)
    pictured(page, "expert-start")

    page.locator("#next").click()
    if javascript:
        fits_and_reads_well(page)
        page.keyboard.press("b")
        page.fill("#certainty", "70")
        page.reload()
        expect(page.locator("#choice-b")).to_be_checked()
        expect(page.locator("#certainty")).to_have_value("70")
        page.locator("#certainty").press("Enter")
    else:
        page.locator("#choice-b").check()
        page.fill("#certainty", "70")
        page.locator("#submit").click()
    page.wait_for_url("**/2/?key=*")
    pictured(page, "expert-item")
    page.locator("#choice-a").check()
    page.fill("#certainty", "55")
    page.locator("#submit").click()
    page.wait_for_url(f"**/{expert.public_id}/?key=*")
    pictured(page, "expert-done")
    page.locator("form button").first.click()
    page.wait_for_url("**/1/?key=*")

    expect(page.locator("#choice-b")).not_to_be_checked()
    assert [row.certainty for row in ExpertDecision.objects.all()] == [None, 55]


def test_the_page_of_adjudication_reads_well(signed_in, live_server, admin_user):
    study = make_split_study()
    sent(study, "Ada", below=100)
    page = signed_in()
    page.goto(f"{live_server.url}/studies/{Study.objects.get().slug}/adjudication/")

    fits_and_reads_well(page)
    pictured(page, "adjudication")
    page.get_by_text("Add an expert", exact=True).click()
    page.fill("#id_name", "Ben")
    page.locator("#add").click()
    expect(page.locator("#new-link")).to_be_visible()
    page.set_viewport_size(PHONE)
    fits_and_reads_well(page)
    pictured(page, "adjudication-phone")
