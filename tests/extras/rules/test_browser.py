"""The page “Why they disagree” and the list of disagreements that it filters, in a real browser."""

import pytest
from django.contrib.auth.models import User

from extras.rules import searching
from extras.rules.models import RuleSearch
from tests.browser.conftest import is_well_in_both_themes
from tests.judging.conftest import make_judge

pytestmark = [
    pytest.mark.sampled(keep=1, group="rules in browser"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


def test_rules_are_searched_and_their_items_opened(run, signed_in):
    User.objects.create_superuser("ada")
    make_judge(name="writer", base_url="http://127.0.0.1:9/v1", price_input=1, price_output=1)
    page = signed_in()
    page.goto("/studies/apart/disagreements/", wait_until="networkidle")
    page.get_by_role("link", name="Why they disagree").click()
    page.get_by_role("heading", name="Search for rules").wait_for()
    is_well_in_both_themes(page)
    page.get_by_label("Judge that proposes").select_option("writer")
    page.get_by_role("button", name="Show cost").click()
    page.get_by_text("Nothing has been sent yet.").wait_for()
    is_well_in_both_themes(page)

    page.get_by_role("link", name="Change").click()
    page.get_by_label("Judge that proposes").select_option("")
    page.get_by_role("button", name="Show cost").click()
    page.get_by_role("button", name="Start search").click()
    page.get_by_role("progressbar").wait_for()
    searching.run_search(search_id=RuleSearch.objects.get().pk)
    page.reload()
    page.get_by_role("heading", name="Choices that all rules together").wait_for()
    page.get_by_text("Examples of The response that is longer").click()
    is_well_in_both_themes(page)

    page.get_by_role("link", name="where this rule applies: The response that is longer").click()
    page.get_by_text("Only items for which a rule says something").wait_for()
    is_well_in_both_themes(page)
