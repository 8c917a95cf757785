"""Importing a file with columns of any names in a real browser, from the file to stored items."""

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from studies.models import Item
from tests.browser.conftest import PHONE, is_well_in_both_themes
from tests.factories import make_study

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("study"),
]
CSV = """Nr,Age group,Occupation now,Wording,Option A,Option B,gold,Notes
1,35-44,Nurse,Shall the town build a pool?,"Yes, sport is worth it.","No, roads first.",A,x
2,35-44,Nurse,Is it fine to work on Sundays?,Yes,No,second,
3,65+,Retired,Which present?,A voucher,A book,A book,
4,18-24,Student,Which holiday?,A hut,A city,hm,<b>bold</b>
"""


@pytest.fixture
def study(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    User.objects.create_superuser("ada", password="a good long secret")
    return make_study(slug="one", title="Everyday choices")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(CSV)
    return path


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("javascript", [True, False])
def test_from_a_csv_with_other_columns_to_stored_items(signed_in, file, javascript):
    page = signed_in(javascript=javascript)
    page.goto("/studies/one/import/")
    page.get_by_label("Item files").set_input_files(file)
    page.get_by_role("button", name="Import items").click()

    page.get_by_role("heading", name="Columns of people.csv").wait_for()
    # Every text of the column ends with a question mark.
    chosen = page.get_by_label("Field of Wording").locator("option:checked")
    assert chosen.inner_text() == "Question"
    page.get_by_label("“hm”").select_option("Tie")
    page.get_by_role("button", name="Update the preview").click()
    page.get_by_role("heading", name="The first items, as annotators will see them").wait_for()
    frame = page.frame_locator("iframe").first
    frame.get_by_text("Shall the town build a pool?").wait_for()
    assert frame.get_by_text("Yes, sport is worth it.").is_visible()
    page.get_by_role("button", name="Import items").click()

    page.get_by_text("Imported 4 items and 3 personas").wait_for()
    page.get_by_text("Columns not imported: Nr, Notes.").wait_for()
    labels = dict(Item.objects.values_list("question", "first_person"))
    assert labels == {
        "Shall the town build a pool?": "r1",
        "Is it fine to work on Sundays?": "r2",
        "Which present?": "r2",
        "Which holiday?": "tie",
    }


@pytest.mark.nightly
def test_the_columns_fit_and_pass_axe(signed_in, file):
    page = signed_in(viewport=PHONE)
    page.goto("/studies/one/import/")
    page.get_by_label("Item files").set_input_files(file)
    page.get_by_role("button", name="Import items").click()
    page.get_by_role("heading", name="Columns of people.csv").wait_for()
    is_well_in_both_themes(page)

    page.get_by_label("Field of Wording").select_option("Question")
    page.get_by_role("button", name="Check without importing").click()

    page.get_by_role("heading", name="No errors in the file").wait_for()
    is_well_in_both_themes(page)


def test_only_persona_features_have_a_label(signed_in, file):
    page = signed_in(viewport=PHONE)
    page.goto("/studies/one/import/")
    page.get_by_label("Item files").set_input_files(file)
    page.get_by_role("button", name="Import items").click()

    labels = page.get_by_label("Shown as").locator("visible=true")
    expect(labels).to_have_count(2)
    page.get_by_label("Field of Notes").select_option("Persona feature")
    expect(labels).to_have_count(3)


def test_the_preview_follows_the_fields_and_keeps_the_focus(signed_in, file):
    page = signed_in()
    page.goto("/studies/one/import/")
    page.get_by_label("Item files").set_input_files(file)
    page.get_by_role("button", name="Import items").click()
    field = page.get_by_label("Field of Wording")

    field.select_option("Question")
    field.focus()

    page.frame_locator("iframe").first.get_by_text("Shall the town build a pool?").wait_for()
    assert page.get_by_text("Still missing").count() == 0
    expect(field).to_be_focused()
    page.get_by_label("Field of gold").select_option("Do not import")
    page.get_by_text("No item will have an own answer.").wait_for()
    assert page.get_by_label("“hm”").count() == 0
