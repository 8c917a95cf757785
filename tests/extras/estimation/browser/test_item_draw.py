"""The page of the items that annotators get, in a real browser."""

import pytest
from django.contrib.auth.models import User

from studies.models import Study
from tests.analysis.builders import random_study
from tests.browser.conftest import is_well_in_both_themes

pytestmark = [
    pytest.mark.sampled(keep=1, group="estimation in item draw"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.nightly
def test_the_draw_of_items_is_well(signed_in):
    User.objects.create_superuser("ada", password="a good long secret")
    study = random_study(5, n_items=120)
    Study.objects.filter(pk=study.pk).update(state="draft")
    page = signed_in()

    page.goto(f"/studies/{study.slug}/reports/draw/", wait_until="networkidle")
    is_well_in_both_themes(page)
