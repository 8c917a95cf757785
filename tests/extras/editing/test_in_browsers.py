"""The pages that change items, in Chromium: they fit and pass axe."""

import pytest

from studies.models import Item
from tests.browser.conftest import PHONE, is_well_in_both_themes
from tests.browser.test_importing import study
from tests.factories import make_item

__all__ = ["study"]
pytestmark = [
    pytest.mark.sampled(keep=1, group="editing in in browsers"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.nightly
def test_the_pages_that_change_items_fit_and_pass_axe(signed_in, study):
    make_item(study=study, key="a-rather-long-key-" + "x" * 60)
    key = Item.objects.get().key
    page = signed_in(viewport=PHONE)

    for path in (f"items/{key}/edit/", f"items/{key}/persona/", f"items/{key}/delete/"):
        page.goto(f"/studies/one/{path}")
        is_well_in_both_themes(page)
    page.goto(f"/studies/one/items/{key}/edit/")
    page.get_by_label("Response 2", exact=True).fill("")
    page.get_by_role("button", name="Save item").click()
    page.get_by_role("heading", name="There is a problem").wait_for()
    is_well_in_both_themes(page)
    page.goto("/studies/one/delete-items/")
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Delete all items").click()
    page.get_by_role("link", name="Short name of the study").wait_for()
    is_well_in_both_themes(page)
    page.get_by_label("Short name of the study").fill("one")
    page.get_by_role("button", name="Delete all items").click()
    page.get_by_text("Deleted 1 item").wait_for()
    assert not Item.objects.exists()
