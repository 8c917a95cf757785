"""Two versions side by side, in Chromium: the page fits and passes axe."""

import pytest
from django.urls import reverse

from tests.analysis.builders import answer, make_rater
from tests.browser.conftest import is_well_in_both_themes
from tests.browser.test_versions import build, study

__all__ = ["study"]
pytestmark = [
    pytest.mark.sampled(keep=1, group="report readers in comparison in browsers"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.nightly
def test_the_page_fits_and_passes_axe(study, signed_in):
    build(study)
    answer(make_rater(study=study, pseudonym="P-x"), study.all_items.first(), "r1")
    build(study)
    page = signed_in()

    page.goto(reverse("comparison:reports", args=[study.slug]), wait_until="networkidle")

    is_well_in_both_themes(page)
