"""The documentation in a real browser: a long page with tables and code, and the index."""

import pytest

from tests.browser.conftest import PHONE, is_well_in_both_themes

pytestmark = [
    pytest.mark.sampled(keep=1, group="administration in browser"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("name", ["README", "judges"])
def test_pages_fit_and_pass_axe(open_page, name):
    page = open_page(viewport=PHONE)
    page.goto(f"/docs/{name}/")

    is_well_in_both_themes(page)
