"""The page that finds a wording in a result file, in Chromium."""

import os

import pytest
from django.contrib.auth.models import User

from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.items.storage import import_items
from studies.models import Membership
from tests.browser.annotators import make_everyday_study
from tests.browser.conftest import PHONE, fits_and_reads_well
from tests.extras.replication.wordings.test_released_wordings import released, written

pytestmark = [
    pytest.mark.sampled(keep=1, group="replication in finding wordings"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def study(live_server):
    study = make_everyday_study(items=3)
    user = User.objects.create_user("researcher")
    Membership.objects.create(user=user, study=study, role="editor")
    return study


def look(page, name):
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.nightly
def test_the_wording_of_a_result_file_is_found_and_a_damaged_file_is_refused(
    signed_in, study, tmp_path
):
    path = written(tmp_path, released())
    import_items(study.slug, read_paths([path], ImportOptions("preference")))
    damaged = released(line_3={"prompt": released()[2]["prompt"].replace("First:", "One:")})
    page = signed_in()
    page.goto(f"/studies/{study.slug}/judges/wordings/")
    page.get_by_role("link", name="Find wording in a result file").click()
    page.get_by_label("Result file").set_input_files(written(tmp_path, damaged, "damaged.jsonl"))
    page.get_by_role("button", name="Find wording").click()

    page.get_by_text("Nothing was stored.").first.wait_for()
    fits_and_reads_well(page)
    look(page, "recover-error")
    page.set_viewport_size(PHONE)
    page.get_by_label("Result file").set_input_files(path)
    page.get_by_label("Name").fill("theirs")
    look(page, "recover-phone")
    page.get_by_role("button", name="Find wording").click()
    page.get_by_role("heading", name="theirs, version 1").wait_for()
    page.get_by_text("rebuilds all 7 prompts byte for byte").first.wait_for()
    fits_and_reads_well(page)
    look(page, "recovered-phone")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="dark")
    look(page, "recovered-dark")
