"""An item with advice in a browser: answered, then shown again with the advice."""

import pytest
from playwright.sync_api import expect

from annotation.models import Annotation, InitialAnswer
from studies.models import Item
from tests.browser.annotators import enter_items
from tests.browser.conftest import PHONE, fits_and_reads_well

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DEBATE = {
    "kind": "debate",
    "title": "",
    "favors": "r2",
    "text": "One debater: the river path is flat, and the person repairs bicycles.\n\nThe other: "
    "it rains half the year, and two colleagues live near by. Sharing a car is the better habit.",
}


@pytest.fixture
def advised(study):
    Item.objects.update(advice=DEBATE)
    return study


def answer(page, choice, certainty):
    page.check(f"#choice-{choice}")
    page.fill("#certainty", certainty)
    page.click("#submit")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no script"])
def test_the_advice_comes_after_the_first_answer(open_page, advised, javascript):
    page = open_page(viewport=PHONE, javascript=javascript)
    enter_items(page, advised)
    expect(page.locator(".advice")).to_have_count(0)

    answer(page, "a", "60")

    expect(page.locator(".advice")).to_contain_text("it rains half the year")
    expect(page.locator(".advice")).to_contain_text("You selected response A.")
    assert page.url.endswith("/task/1/")
    assert page.is_checked("#choice-a")
    assert page.input_value("#certainty") == "60"
    answer(page, "b", "75")
    page.wait_for_url("**/task/2/")
    expect(page.locator(".advice")).to_have_count(0)
    assert InitialAnswer.objects.get().certainty == 60
    assert Annotation.objects.get().certainty == 75


def test_the_page_with_the_advice_fits_and_passes_axe(open_page, advised):
    page = open_page(viewport=PHONE)
    enter_items(page, advised)
    answer(page, "a", "60")
    expect(page.locator(".advice")).to_be_visible()

    fits_and_reads_well(page)
