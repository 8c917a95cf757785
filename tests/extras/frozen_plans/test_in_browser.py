"""The pages of a plan in Chromium: they fit, pass axe, and work by keyboard."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from studies.models import Membership
from tests.analysis.builders import little_study
from tests.browser.conftest import PHONE, fits_and_reads_well

pytestmark = [
    pytest.mark.sampled(keep=1, group="frozen plans in in browser"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


def test_a_plan_is_frozen_by_keyboard_alone(signed_in):
    study = little_study(71)
    Membership.objects.create(user=User.objects.create_user("ada"), study=study, role="owner")
    page = signed_in(viewport=PHONE)
    page.goto(reverse("frozen_plans:plan", args=[study.slug]))

    page.get_by_role("button", name="Freeze plan").press("Enter")
    page.get_by_role("heading", name="There is a problem").wait_for()
    assert page.title().startswith("Error:")
    fits_and_reads_well(page)
    page.get_by_role("link", name="Analyses: Choose at least one analysis.").press("Enter")
    page.get_by_label("Accuracy of people and judges").press("Space")
    page.get_by_label("I understand that I cannot change the plan").press("Space")
    page.get_by_role("button", name="Freeze plan").press("Enter")

    page.get_by_role("heading", name="Seal").wait_for()
    fits_and_reads_well(page)
    page.get_by_text("Frozen after the first data").first.wait_for()
