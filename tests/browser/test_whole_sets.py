"""A whole set of responses is put in order by keys and by pointer; each place is given once."""

import pytest
from playwright.sync_api import expect

from annotation.models import Annotation
from tests.annotation.pages.test_whole_sets import whole_study
from tests.browser.annotators import enter_items
from tests.browser.conftest import DESKTOP, PHONE, fits_and_reads_well

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def sets(live_server):
    study = whole_study()
    study.all_items.get(key="x3").delete()
    return study


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_place_that_is_taken_is_freed_and_the_order_is_stored(open_page, sets, viewport):
    page = open_page(viewport=viewport)
    enter_items(page, sets)
    spoken = page.locator("[data-places-spoken]")
    order = page.locator("[data-order]").first

    for letter in "cad":
        page.keyboard.press(letter)
    expect(order).to_have_text("C › A › D › –")
    page.locator("label[for=place-b-1]").click()

    expect(spoken).to_have_text("Response B is 1st. Response C has no place now.")
    expect(order).to_have_text("B › A › D › –")
    assert page.locator("[data-places=c] :checked").count() == 0
    page.keyboard.press("c")
    page.keyboard.press("d")
    expect(spoken).to_have_text("Response D has no place now.")
    page.keyboard.press("d")
    fits_and_reads_well(page)
    page.keyboard.type("64")
    assert page.input_value("#certainty") == "64"
    page.keyboard.press("Enter")
    page.wait_for_url("**/task/2/")
    answer = Annotation.objects.get()
    shown = answer.ranking["shown"]
    assert answer.ranking["ranking"] == [shown["ABCD".index(letter)] for letter in "BADC"]
    assert answer.certainty == 64
