"""Bias probes in Chromium: chosen in the form, and the chapter of a report."""

import datetime as dt
import os

import pytest
from django.contrib.auth.models import User

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.render import render_html
from judging.models import Campaign, Judge
from studies.models import Item, Membership
from tests.analysis.builders import judge_item, make_run, random_study
from tests.browser.annotators import make_everyday_study
from tests.browser.conftest import PHONE, fits_and_reads_well

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def look(page, name):
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.nightly
def test_probes_are_chosen_in_the_form_on_a_phone(signed_in, live_server):
    study = make_everyday_study(items=3)
    Membership.objects.create(
        user=User.objects.create_user("researcher"), study=study, role="editor"
    )
    Judge.objects.create(name="one", model="mock", base_url="http://127.0.0.1:9/v1")
    page = signed_in(viewport=PHONE)
    page.goto(f"/studies/{study.slug}/judges/new/")
    page.get_by_label("one: mock").check()
    page.get_by_text("Bias probes and mitigations").click()
    page.get_by_label("length: Longer without more content").check()
    page.get_by_label("A system message says what to ignore").check()
    look(page, "bias-form-phone")
    page.get_by_role("button", name="Estimate cost").click()

    page.get_by_role("heading", name="Estimate").wait_for()
    assert "4 runs" in page.locator("#estimate").inner_text()
    fits_and_reads_well(page)
    look(page, "bias-estimate-phone")
    page.get_by_role("button", name="Start without test question").click()
    page.get_by_role("heading", name="Runs").wait_for()
    assert page.get_by_text("probe length+warning").count() == 1
    assert Campaign.objects.get().plan["probes"] == ["length", "length+warning"]


@pytest.mark.nightly
def test_the_chapter_of_a_report_reads_well(open_page, tmp_path):
    study = random_study(4, n_items=40, n_personas=10, runs=())
    for probe, share in (("", 0.0), ("length", 0.6), ("length+warning", 0.2), ("flip:age", 0.3)):
        run = make_run(study=study, judge="steady", orders="both", bias_probe=probe)
        for number, item in enumerate(Item.objects.filter(study=study).order_by("key")):
            for first in ("r1", "r2"):
                choice = "r1" if (number * 7 + share * 100) % 10 < 5 else "r2"
                judge_item(run, item, choice, 70, shown_first=first)
    file = tmp_path / "report.html"
    report = build_report(load_dataset(study.slug), seed=1, bootstrap=20)
    file.write_text(render_html(report, date=dt.date(2026, 5, 1)))

    page = open_page()
    page.goto(file.as_uri())
    page.locator("details:has(#bias) > summary").click()

    page.get_by_role("region", name="Probes that favour a response").wait_for()
    page.locator("#bias").scroll_into_view_if_needed()
    fits_and_reads_well(page, within="#bias")
    if folder := os.environ.get("PICTURES"):
        page.locator("#bias").screenshot(path=f"{folder}/bias-chapter.png")
        page.set_viewport_size(PHONE)
        page.locator("#bias").screenshot(path=f"{folder}/bias-chapter-phone.png")
