"""The chapter on few people in a real browser."""

import datetime as dt

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.render import render_html
from tests.browser.conftest import is_well_in_both_themes
from tests.extras.estimation.test_few_people import judged_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.nightly
def test_estimates_are_well_in_a_report(open_page, tmp_path):
    page = open_page()
    study = judged_study()
    report = build_report(load_dataset(study.slug), seed=1, bootstrap=60)
    file = tmp_path / "report.html"
    file.write_text(render_html(report, date=dt.date(2026, 3, 4)), "utf-8")

    page.goto(file.as_uri(), wait_until="networkidle")
    page.locator("section#estimation > details > summary").click()
    is_well_in_both_themes(page, within="#estimation")
