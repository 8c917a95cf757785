"""The chapter on few people in a real browser."""

import datetime as dt

import pytest

from analysis.report.render import render_html
from tests.analysis.partial import report_of
from tests.browser.conftest import is_well_in_both_themes
from tests.extras.estimation.test_few_people import judged_study

pytestmark = [
    pytest.mark.sampled(keep=1, group="estimation in chapter"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.nightly
def test_estimates_are_well_in_a_report(open_page, tmp_path):
    page = open_page()
    study = judged_study()
    report = report_of(study)
    file = tmp_path / "report.html"
    file.write_text(render_html(report, date=dt.date(2026, 3, 4)), "utf-8")

    page.goto(file.as_uri(), wait_until="networkidle")
    page.locator("section#estimation > details > summary").click()
    is_well_in_both_themes(page, within="#estimation")
