"""Plans, versions and shared reports in Chromium: they fit, pass axe, and work by keyboard."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis import tasks
from analysis.lifecycle.requests import request_report
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
    page = signed_in()
    of_report = [study.slug, report.public_id]

    for name, arguments in [
        ("list", [study.slug]),
        ("plan", [study.slug]),
        ("compare", [study.slug]),
        ("report", of_report),
    ]:
        page.goto(reverse(f"analysis:{name}", args=arguments), wait_until="networkidle")
        is_well_in_both_themes(page)


def test_a_plan_is_frozen_by_keyboard_alone(study, signed_in):
    page = signed_in(viewport=PHONE)
    page.goto(reverse("analysis:plan", args=[study.slug]))

    page.get_by_role("button", name="Freeze plan").press("Enter")
    page.get_by_role("heading", name="There is a problem").wait_for()
    assert page.title().startswith("Error:")
    fits_and_reads_well(page)
    page.get_by_role("link", name="Analyses: Choose at least one analysis.").press("Enter")
    page.get_by_label("Accuracy of people and judges").press("Space")
    page.get_by_label("I understand that I cannot change the plan").press("Space")
    page.get_by_role("button", name="Freeze plan").press("Enter")

    page.get_by_role("heading", name="Seal").wait_for()
    fits_and_reads_well(page)
    page.get_by_text("Frozen after the first data").first.wait_for()
