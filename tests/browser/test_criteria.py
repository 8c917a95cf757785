"""Criteria in Chromium: edited under Settings, shown to annotators, offered where runs start."""

import os

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import expect

from studies.models import Membership, Study
from tests.browser.annotators import enter_items
from tests.browser.conftest import DESKTOP, PHONE, fits_and_reads_well, is_well_in_both_themes
from tests.judging.conftest import make_judge

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LINES = "Clarity: The person can follow it at once.\nWarmth"


def look(page, name):
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.nightly
def test_criteria_are_entered_offered_to_judges_and_shown_to_annotators(
    open_page, signed_in, study
):
    make_judge(name="one", base_url="http://127.0.0.1:9/v1")
    user, _ = User.objects.get_or_create(username="researcher")
    Membership.objects.get_or_create(user=user, study=study, defaults={"role": "editor"})
    page = signed_in()
    page.goto(f"/studies/{study.slug}/settings/")
    page.locator("details:has(#id_criteria) > summary").click()
    page.get_by_label("Criteria").fill(LINES)
    fits_and_reads_well(page)
    look(page, "criteria-settings")
    page.get_by_role("button", name="Save settings").click()
    page.wait_for_load_state()
    assert [each["name"] for each in Study.objects.get().criteria] == ["Clarity", "Warmth"]

    page.goto(f"/studies/{study.slug}/judges/new/")
    page.get_by_text("Wording, framing, language").click()
    expect(page.get_by_label("Criteria: a choice by each")).to_be_visible()
    page.get_by_label("Neutral: the model").check()
    is_well_in_both_themes(page)
    for name, size in (("desktop", DESKTOP), ("phone", PHONE)):
        page.set_viewport_size(size)
        look(page, f"criteria-runs-{name}")

    annotator = open_page(viewport=PHONE)
    enter_items(annotator, study)
    expect(annotator.locator(".criteria li")).to_have_count(2)
    fits_and_reads_well(annotator)
    for name, size in (("desktop", DESKTOP), ("phone", PHONE)):
        annotator.set_viewport_size(size)
        look(annotator, f"criteria-item-{name}")
