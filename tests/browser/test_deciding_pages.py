"""Planner, draw, watched comparison and chapters in a real browser."""

import datetime as dt

import pytest
from django.contrib.auth.models import User

from analysis.data.dataset import load_dataset
from analysis.planning.assumptions import Assumptions
from analysis.planning.requests import compute_queued, request_forecast
from analysis.planning.watching import fix_comparison
from analysis.report.build import build_report
from analysis.report.render import render_html
from tests.analysis.planning.test_watching import people_answer, study_with_run
from tests.analysis.test_estimation_report import judged_study
from tests.browser.conftest import is_well_in_both_themes
from tests.factories import make_items, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(signed_in):
    User.objects.create_superuser("ada", password="a good long secret")
    return signed_in()


def looks_well(page, *paths):
    for path in paths:
        page.goto(path, wait_until="networkidle")
        is_well_in_both_themes(page)


def test_the_planner_is_well_before_and_after_a_forecast_and_on_the_launch_page(page, monkeypatch):
    monkeypatch.setattr("analysis.planning.forecast.SIZES", (2.0,))
    monkeypatch.setattr("analysis.planning.forecast.ANSWERS", (3,))
    study = make_study(slug="plan", state="draft", items_per_annotator=10, title="Plan ahead")
    make_items(study, 40)
    looks_well(page, "/studies/plan/planning/")

    assumed = Assumptions.of(study, items_there=40)
    compute_queued(forecast_id=request_forecast(study_id=study.pk, assumed=assumed, user=None).pk)

    looks_well(page, "/studies/plan/planning/", "/studies/plan/launch/", "/studies/plan/")
    assert page.get_by_role("link", name="Plan: what this study can show").is_visible()


def test_the_watched_comparison_is_well_before_and_after_it_is_fixed(page):
    study, items, run = study_with_run()
    address = f"/studies/{study.slug}/planning/watched/"
    looks_well(page, address)

    fix_comparison(study_id=study.pk, run_id=run.public_id, user=None)
    people_answer(study, items, 12, wrong=6)

    looks_well(page, address, f"/studies/{study.slug}/")


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
