"""Certificates in a real browser: axe, a phone, and the way from a request to labels."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis import tasks
from analysis.models import Certificate, Labelling
from tests.analysis.passports.builders import judge_it, make_certifiable
from tests.browser.conftest import is_well_in_both_themes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_both_pages_fit_and_pass_axe(signed_in):
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
