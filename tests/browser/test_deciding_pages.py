"""Draw, changed personas and chapters in a real browser."""

import datetime as dt

import pytest
from django.contrib.auth.models import User

from analysis import tasks
from analysis.data.dataset import load_dataset
from analysis.models import Certificate, Labelling
from analysis.report.build import build_report
from analysis.report.render import render_html
from studies.models import Study
from tests.analysis.test_estimation_report import judged_study
from tests.browser.conftest import is_well_in_both_themes
from tests.factories import make_items, make_persona, make_study

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


def test_changed_personas_are_well_with_a_preview_and_with_an_error(page):
    study = make_study(slug="one")
    for age in ("young", "old"):
        fact = {"key": "age", "label": "Age", "value": age, "text": f"The person is {age}."}
        make_items(study, 2, persona=make_persona(study=study, features=[fact]))
    address = "/studies/one/changed-personas/"
    looks_well(page, address)

    page.get_by_role("button", name="Show three items").click()
    page.get_by_role("heading", name="There is a problem").wait_for()
    is_well_in_both_themes(page)
    page.get_by_label("Age (3 values)").check()
    page.get_by_role("button", name="Show three items").click()
    page.get_by_role("heading", name="What the new study has").wait_for()
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Create study").click()
    page.wait_for_url("**/studies/one-changed/")

    assert Study.objects.filter(slug="one-changed").exists()


def test_certificates_and_estimates_are_well_in_a_report(page, tmp_path):
    study = judged_study()
    run = study.judge_runs.get()
    fields = {"study": study, "judge": run.judge.name, "run": run.public_id, "signal": "stated"}
    for error in (0.4, 0.02):
        job = Certificate.objects.create(**fields, target="majority", error=error, confidence=0.9)
        tasks.certify_judge(job.pk)
        job.refresh_from_db()
        if job.passport:
            tasks.label_items(Labelling.objects.create(certificate=job).pk)
    report = build_report(load_dataset(study.slug), seed=1, bootstrap=60)
    file = tmp_path / "report.html"
    file.write_text(render_html(report, date=dt.date(2026, 3, 4)), "utf-8")

    page.goto(file.as_uri(), wait_until="networkidle")
    for chapter in ("estimation", "certificates"):
        page.locator(f"section#{chapter} > details > summary").click()
    is_well_in_both_themes(page, within="#estimation, #certificates")
