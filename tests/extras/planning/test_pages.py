"""The planner and the watched comparison in a real browser."""

import pytest
from django.contrib.auth.models import User

from analysis.data.frozen_plan import keeper
from extras.planning.assumptions import Assumptions, compute_queued, forecast_of, request_forecast
from extras.planning.sizes import curve_of
from extras.planning.watching import fix_comparison
from studies.models import Study
from tests.browser.conftest import is_well_in_both_themes
from tests.extras.in_browser import browser, open_page, signed_in  # noqa: F401
from tests.extras.planning.test_watching import people_answer, study_with_run
from tests.factories import make_items, make_study
from tests.judging.conftest import make_judge

__all__ = ["open_page", "signed_in"]
pytestmark = [
    pytest.mark.sampled(keep=1, group="planning in pages"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def page(signed_in):
    User.objects.create_superuser("ada", password="a good long secret")
    return signed_in()


def looks_well(page, *paths):
    for path in paths:
        page.goto(path, wait_until="networkidle")
        is_well_in_both_themes(page)


@pytest.mark.nightly
def test_the_planner_is_well_before_and_after_a_forecast_and_on_the_launch_page(page, monkeypatch):
    monkeypatch.setattr("extras.planning.forecast.SIZES", (2.0,))
    monkeypatch.setattr("extras.planning.forecast.ANSWERS", (3,))
    study = make_study(slug="plan", state="draft", items_per_annotator=10, title="Plan ahead")
    make_items(study, 40)
    looks_well(page, "/studies/plan/planning/")

    assumed = Assumptions.of(study, items_there=40)
    compute_queued(forecast_id=request_forecast(study_id=study.pk, assumed=assumed, user=None).pk)

    looks_well(page, "/studies/plan/planning/", "/studies/plan/launch/", "/studies/plan/")
    assert page.get_by_role("link", name="Plan: what this study can show").is_visible()


def test_the_papers_study_is_created_planned_and_frozen_on_pages(page, monkeypatch):
    monkeypatch.setattr("extras.planning.forecast.SIZES", (2.0,))
    monkeypatch.setattr("extras.planning.forecast.ANSWERS", (3,))
    page.goto("/studies/new/", wait_until="networkidle")
    page.get_by_role("button", name="The paper’s study, again").click()
    page.get_by_label("Title").fill("Again")
    page.get_by_role("button", name="Create study", exact=True).last.click()
    page.get_by_role("status").get_by_text("Study created as a draft").wait_for()
    study = Study.objects.get()
    make_items(study, 40)
    make_judge(name="one", base_url="http://127.0.0.1:9/v1", price_input=2, price_output=10)
    address = f"/studies/{study.slug}/planning/plan/"
    page.goto(address, wait_until="networkidle")
    page.get_by_role("button", name="Compute").click()
    page.wait_for_url(f"**{address}")
    compute_queued(forecast_id=forecast_of(study.pk).pk)

    looks_well(page, address)

    assert page.get_by_text("what 200 people can do").is_visible()
    if keeper() is None:  # in an installation without analysis plans
        return
    page.get_by_role("checkbox", name="one: mock").check()
    page.get_by_label("I understand that I cannot change the plan").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="Freeze this plan").press("Enter")
    page.get_by_text("The plan is frozen.").wait_for()
    looks_well(page, address)


@pytest.mark.nightly
def test_the_watched_comparison_is_well_before_and_after_it_is_fixed(page):
    study, items, run = study_with_run()
    address = f"/studies/{study.slug}/planning/watched/"
    looks_well(page, address)

    fix_comparison(study_id=study.pk, run_id=run.public_id, user=None)
    people_answer(study, items, 12, wrong=6)

    looks_well(page, address, f"/studies/{study.slug}/")


def test_sliders_are_moved_by_keys_and_their_size_becomes_that_of_the_study(page):
    study = make_study(slug="plan", entry="link", state="draft", items_per_annotator=10)
    make_items(study, 40)
    table = curve_of(study, planned=40).table
    page.goto("/studies/plan/launch/", wait_until="networkidle")
    items = page.get_by_role("slider", name="Items")

    items.press("ArrowRight")
    assert page.get_by_text(table["50x3"]["sentence"]).is_visible()
    assert not page.get_by_role("button", name="Use these numbers").is_visible()
    for key in ("ArrowLeft", "ArrowLeft"):
        items.press(key)
    page.get_by_role("slider", name="People").press("ArrowRight")
    assert page.get_by_text(table["30x5"]["crowd"]).is_visible()
    page.get_by_role("button", name="Use these numbers").click()

    page.get_by_role("status").get_by_text("30 items × 5 answers").wait_for()
    assert page.get_by_role("heading", name="Ready to launch?").is_visible()
