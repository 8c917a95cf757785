"""Notes of items in a real browser: without scripts, and next to keys of the page."""

import pytest
from django.contrib.auth.models import User

from extras.audit.models import ItemNote
from tests.browser.conftest import PHONE, is_well_in_both_themes
from tests.factories import make_items, make_study

pytestmark = [
    pytest.mark.sampled(keep=1, group="audit in in browsers"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def item():
    User.objects.create_superuser("ada", password="a good long secret")
    return make_items(make_study(slug="one"), 3)[1]


def test_a_note_is_written_on_a_phone_without_scripts_and_its_tag_opens_the_list(signed_in, item):
    page = signed_in(javascript=False, viewport=PHONE)
    page.goto(f"/studies/one/items/{item.key}/?list=disagreements&show=all")
    page.get_by_role("textbox", name="Note").fill("Ironic.")
    page.get_by_role("textbox", name="Tags").fill("irony, hard")
    page.get_by_role("button", name="Save note").click()

    page.get_by_text("Note and tags saved.").wait_for()
    assert "list=disagreements" in page.url
    assert ItemNote.objects.get().text == "Ironic."
    page.get_by_role("link", name="irony", exact=True).click()
    page.get_by_role("heading", name="1 item").wait_for()


@pytest.mark.nightly
def test_the_form_passes_axe_and_its_letters_are_no_keys_of_the_page(signed_in, item):
    page = signed_in(viewport=PHONE)
    page.goto(f"/studies/one/items/{item.key}/")
    is_well_in_both_themes(page)

    page.get_by_role("textbox", name="Note").press("j")

    assert page.get_by_role("textbox", name="Note").input_value() == "j"
