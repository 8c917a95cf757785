"""Certificates in a real browser: axe, a phone, and the way from a request to labels."""

import datetime as dt

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis.report.render import render_html
from extras.certificates import tasks
from extras.certificates.models import Certificate, Labelling
from tests.analysis.labelled_items import judge_it, make_certifiable
from tests.analysis.partial import report_of
from tests.browser.conftest import is_well_in_both_themes

pytestmark = [
    pytest.mark.sampled(keep=1, group="certificates in certificates"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.nightly
def test_both_pages_and_the_chapter_fit_and_pass_axe(signed_in, tmp_path):
    User.objects.create_superuser("ada", password="a good long secret")
    study = make_certifiable(60, slug="one")
    judge_it(study, certainty=lambda n: 90 if n % 3 else 60, is_right=lambda n: n % 3 > 0)
    fields = {"study": study, "judge": "steady", "signal": "stated", "target": "first_person"}
    good = Certificate.objects.create(**fields, error=0.1, confidence=0.9)
    none = Certificate.objects.create(**fields, error=0.01, confidence=0.9)
    for job in (good, none):
        tasks.certify_judge(job.pk)
    tasks.label_items(Labelling.objects.create(certificate=good).pk)

    page = signed_in()
    for address in (
        reverse("certificates:list", args=["one"]),
        *(reverse("certificates:show", args=["one", job.public_id]) for job in (good, none)),
    ):
        page.goto(address)
        is_well_in_both_themes(page)

    report = report_of(study)
    file = tmp_path / "report.html"
    file.write_text(render_html(report, date=dt.date(2026, 3, 4)), "utf-8")
    page.goto(file.as_uri(), wait_until="networkidle")
    page.locator("section#certificates > details > summary").click()
    is_well_in_both_themes(page, within="#certificates")
