"""Reports in Chromium: their pages fit and pass axe."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis import tasks
from analysis.lifecycle.requests import request_report
from studies.models import Membership
from tests.analysis.builders import random_study
from tests.browser.conftest import is_well_in_both_themes

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


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
def test_the_pages_fit_and_pass_axe(study, signed_in):
    report = build(study)
    page = signed_in()

    for name, arguments in [("list", [study.slug]), ("report", [study.slug, report.public_id])]:
        page.goto(reverse(f"analysis:{name}", args=arguments), wait_until="networkidle")
        is_well_in_both_themes(page)
