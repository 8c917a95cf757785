"""Draw and chapters in a real browser."""

import datetime as dt

import pytest
from django.contrib.auth.models import User

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.render import render_html
from tests.analysis.test_estimation_report import judged_study
from tests.browser.conftest import is_well_in_both_themes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(signed_in):
    User.objects.create_superuser("ada", password="a good long secret")
    return signed_in()


def looks_well(page, *paths):
    for path in paths:
        page.goto(path, wait_until="networkidle")
        is_well_in_both_themes(page)


def test_the_draw_of_items_is_well(page):
    study = judged_study(slug="one", state="draft")

    looks_well(page, f"/studies/{study.slug}/reports/draw/")


def test_estimates_are_well_in_a_report(page, tmp_path):
    study = judged_study()
    report = build_report(load_dataset(study.slug), seed=1, bootstrap=60)
    file = tmp_path / "report.html"
    file.write_text(render_html(report, date=dt.date(2026, 3, 4)), "utf-8")

    page.goto(file.as_uri(), wait_until="networkidle")
    page.locator("section#estimation > details > summary").click()
    is_well_in_both_themes(page, within="#estimation")
