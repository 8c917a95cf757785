"""The page of exports in Chromium: it fits, passes axe, follows the queue, needs no mouse."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from analysis import tasks
from analysis.exports.requests import request_export
from analysis.models import Export
from studies.models import Membership
from tests.analysis.builders import random_study
from tests.browser.conftest import is_well_in_both_themes

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(settings, tmp_path, monkeypatch):
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(tasks.write_export, "delay_on_commit", lambda pk: None)
    study = random_study(1, n_items=6, is_simulated=True)
    owner = User.objects.create_user("ada")
    Membership.objects.create(user=owner, study=study, role="owner")
    return study


def test_every_page_fits_and_passes_axe_in_every_state(study, signed_in):
    user = User.objects.get()
    made = [
        request_export(study_id=study.pk, user=user, what=what, identified=identified)
        for what, identified in [
            ("annotators", True),
            ("annotators", False),
            ("items", False),
            ("aggregates", False),
            ("judgments", False),
        ]
    ]
    for export in made[:2]:
        tasks.write_export(export.pk)
    Export.objects.filter(pk=made[2].pk).update(state="failed", message="The disk is full.")
    Export.objects.filter(pk=made[3].pk).update(state="running", progress=45)
    page = signed_in()

    page.goto(reverse("exports:list", args=[study.slug]))
    for state in ("✔ done", "▲ failed", "45 %", "waiting"):
        assert page.get_by_text(state).first.is_visible()
    is_well_in_both_themes(page)

    page.goto(reverse("exports:delete", args=[study.slug, made[0].public_id]))
    is_well_in_both_themes(page)

    page.goto(reverse("exports:list", args=[study.slug]))
    page.get_by_label("Include platform ids").check()
    page.get_by_role("button", name="Create export").click()
    page.get_by_role("heading", name="There is a problem").wait_for()
    is_well_in_both_themes(page)


@pytest.mark.nightly
def test_an_export_is_made_followed_and_downloaded_without_a_mouse(study, signed_in):
    page = signed_in()
    page.goto(reverse("exports:list", args=[study.slug]))

    page.get_by_label("Content", exact=True).focus()
    page.keyboard.press("A")  # Annotations
    page.get_by_role("button", name="Create export").focus()
    page.keyboard.press("Enter")
    page.get_by_text("Waiting for a worker.").wait_for()
    page.get_by_label("Short name of the study").fill("half a wo")

    tasks.write_export(Export.objects.get().pk)

    page.get_by_text("✔ done").wait_for()
    assert page.get_by_label("Short name of the study").input_value() == "half a wo"
    assert page.locator("#export-news").text_content() == "An export has finished."
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").focus()
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == Export.objects.get().filename


def test_a_refused_form_says_so_first_and_leads_to_the_field(study, signed_in):
    page = signed_in()
    page.goto(reverse("exports:list", args=[study.slug]))
    page.get_by_label("Include free text").check()
    page.get_by_role("button", name="Create export").click()

    expect(page.locator(".error-summary")).to_be_focused()
    page.get_by_role("link", name="Short name of the study").click()
    expect(page.locator("#id_confirmation")).to_be_focused()
    assert page.get_by_label("Include free text").is_checked()


def test_without_scripts_the_page_does_everything(study, signed_in):
    page = signed_in(javascript=False)
    page.goto(reverse("exports:list", args=[study.slug]))
    page.get_by_role("button", name="Create export").click()
    page.get_by_text("Waiting for a worker.").wait_for()

    tasks.write_export(Export.objects.get().pk)
    page.reload()

    assert page.get_by_role("link", name="Download").is_visible()
