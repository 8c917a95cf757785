"""Django's admin in a real browser."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from studies.models import Study
from tests.factories import make_study

pytestmark = [
    pytest.mark.sampled(keep=1, group="administration in browser"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


def test_the_administration_takes_the_form_of_a_real_browser(signed_in):
    User.objects.create_superuser("ada", password="a good long secret")
    study = make_study(slug="one")
    page = signed_in()
    page.goto(reverse("admin:studies_study_change", args=[study.pk]))

    page.get_by_label("Minutes").fill("33")
    page.get_by_role("button", name="Save", exact=True).click()

    page.get_by_text("was changed successfully").wait_for()
    assert Study.objects.get(slug="one").minutes == 33
