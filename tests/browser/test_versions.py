"""Versions and shared reports in Chromium: they fit, pass axe, and work by keyboard."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis import tasks
from analysis.lifecycle.requests import request_report, share_report
from studies.models import Membership
from tests.analysis.builders import answer, make_rater, random_study
from tests.browser.conftest import PHONE, fits_and_reads_well, is_well_in_both_themes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(settings, tmp_path, monkeypatch):
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr(tasks.build_report, "delay_on_commit", lambda pk: None)
    owner = User.objects.create_user("ada")
    study = random_study(71, n_items=12, title="Everyday choices", is_simulated=True)
    Membership.objects.create(user=owner, study=study, role="owner")
    return study


def build(study):
    report = request_report(study_id=study.pk, bootstrap=100)
    tasks.build_report(report.pk)
    return report


@pytest.mark.nightly
def test_the_pages_fit_and_pass_axe(study, signed_in, open_page):
    build(study)
    answer(make_rater(study=study, pseudonym="P-x"), study.all_items.first(), "r1")
    report = build(study)
    link, key = share_report(report_id=report.pk, user=User.objects.get(), note="the journal")
    page = signed_in()
    of_report = [study.slug, report.public_id]

    for name, arguments in [
        ("list", [study.slug]),
        ("compare", [study.slug]),
        ("report", of_report),
        ("share", of_report),
    ]:
        page.goto(reverse(f"analysis:{name}", args=arguments), wait_until="networkidle")
        is_well_in_both_themes(page)
    outside = open_page()
    outside.goto(f"{reverse('shared:report', args=[link.public_id])}?key={key}")
    is_well_in_both_themes(outside)


@pytest.mark.nightly
def test_a_link_is_made_opened_and_ended(study, signed_in, open_page):
    page = signed_in(viewport=PHONE)
    page.goto(reverse("analysis:share", args=[study.slug, build(study).public_id]))
    page.get_by_label("Recipient").fill("the journal")
    page.get_by_role("button", name="Create share link").press("Enter")
    address = page.get_by_label("Link to the report").input_value()
    fits_and_reads_well(page)
    path = address[address.index("/shared/") :]

    outside = open_page(viewport=PHONE)
    outside.goto(path)
    with outside.expect_request("**/report.html*") as asked:
        outside.get_by_role("link", name="Open report").press("Enter")
    outside.get_by_role("heading", name=re.compile(r"^\d+ Methods$")).wait_for()
    page.get_by_role("button", name="Revoke link for the journal").press("Enter")
    page.get_by_text("Share link revoked.").wait_for()

    assert "referer" not in asked.value.headers
    assert outside.goto(path).status == 404
