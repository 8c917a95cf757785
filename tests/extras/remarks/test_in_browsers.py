"""Remarks in Chromium on a phone: kept without leaving, and sent with the choice."""

import os

import pytest
from playwright.sync_api import expect

from annotation.models import Draft
from extras.remarks.models import Remarks
from tests.browser.annotators import enter_items
from tests.browser.conftest import PHONE, fits_and_reads_well
from tests.extras.remarks.remarking import make_remarking_study

pytestmark = [
    pytest.mark.sampled(keep=1, group="remarks in in browsers"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


def pictured(page):
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/remarks.png", full_page=True)


def test_a_flag_stays_on_the_page_and_goes_with_the_answer(open_page, live_server):
    study = make_remarking_study(items=2)
    page = open_page(viewport=PHONE)
    enter_items(page, study)
    fits_and_reads_well(page)

    with page.expect_response("**/draft/**"):
        page.select_option("#flag", "offensive")
        page.get_by_label("The other response would do as well").check()
    page.reload()
    expect(page.locator("#flag")).to_have_value("offensive")
    expect(page.locator("#either")).to_be_checked()
    assert Draft.objects.count() == 1

    page.keyboard.press("a")
    page.fill("#others", "40")
    page.fill("#certainty", "70")
    pictured(page)
    page.locator("#submit").click()
    page.wait_for_url("**/task/2/")
    expect(page.locator("#flag")).to_have_value("")
    remarks = Remarks.objects.get()
    assert (remarks.flag, remarks.either, remarks.others) == ("offensive", True, 40)
