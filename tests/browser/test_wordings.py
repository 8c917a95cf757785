"""The pages of wordings in Chromium: prompts next to the annotators' pages, and what changed."""

import os

import pytest
from django.contrib.auth.models import User

from judging.models import PromptTemplate
from studies.models import Membership
from tests.browser.annotators import make_everyday_study
from tests.browser.conftest import PHONE, fits_and_reads_well
from tests.judging.conftest import make_judge

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TEXT = "What would this person choose?\n\n{{ persona }}\n\n{{ question }}A: {{ response_a }}\n"


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
def test_a_wording_is_written_checked_saved_and_changed(signed_in, study):
    make_judge(name="one", base_url="http://127.0.0.1:9/v1")
    page = signed_in()
    page.goto(f"/studies/{study.slug}/judges/")
    page.get_by_role("link", name="New runs").click()
    page.get_by_text("Wording, framing, language").click()
    page.get_by_role("link", name="Write one").click()
    page.get_by_label("Name").fill("short")
    page.get_by_label("Prompt", exact=True).fill(TEXT)
    page.get_by_role("button", name="Check and show prompts").click()
    page.get_by_text("would not see response B").first.wait_for()
    look(page, "wording-error")
    page.get_by_label("Prompt", exact=True).fill(TEXT + "B: {{ response_b }}")
    page.get_by_role("button", name="Check and show prompts").click()

    page.get_by_text("All slots are right").wait_for()
    assert not PromptTemplate.objects.exists()
    frame = page.frame_locator("iframe >> nth=0")
    frame.locator("#choice-a").wait_for()
    fits_and_reads_well(page)
    look(page, "wording-checked")
    page.get_by_role("button", name="Save wording").click()
    page.get_by_role("heading", name="short, version 1").wait_for()
    PromptTemplate.objects.update(frozen_at="2026-01-01T00:00:00Z")
    page.get_by_role("link", name="Change wording").click()
    page.get_by_label("Prompt", exact=True).fill(TEXT + "Or B: {{ response_b }}")
    page.get_by_role("button", name="Save wording").click()

    page.get_by_text("Changes from version 1").wait_for()
    fits_and_reads_well(page)
    look(page, "wording-page")
    page.set_viewport_size(PHONE)
    look(page, "wording-page-phone")
    page.get_by_role("navigation").get_by_role("link", name="Wordings").first.click()
    page.get_by_role("link", name="short, version 2").wait_for()
    fits_and_reads_well(page)
    look(page, "wording-list-phone")


def test_the_form_works_without_a_script_on_a_phone(signed_in, study):
    page = signed_in(viewport=PHONE, javascript=False)
    page.goto(f"/studies/{study.slug}/judges/wordings/write/")
    page.get_by_label("Name").fill("short")
    page.get_by_label("Prompt", exact=True).fill(TEXT + "B: {{ response_b }}")

    page.get_by_role("button", name="Save wording").click()

    page.get_by_role("heading", name="short, version 1").wait_for()
    assert PromptTemplate.objects.get().template == TEXT + "B: {{ response_b }}"
