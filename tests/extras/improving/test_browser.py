"""Pages of improvements in a real browser: from the cost to the words that a judge learned."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from extras.improving import improving
from extras.improving.models import Improvement
from studies.models import Item
from tests.browser.conftest import is_well_in_both_themes

pytestmark = [
    pytest.mark.sampled(keep=1, group="improving in browser"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


def test_a_judge_is_improved_and_its_words_are_read(run, signed_in):
    User.objects.create_superuser("ada", password="a good long secret")
    page = signed_in()
    page.goto(reverse("improving:list", args=["taught"]), wait_until="networkidle")
    is_well_in_both_themes(page)
    for kind in ("Examples", "Rules", "Persona fields"):
        page.get_by_label(kind).uncheck()
    page.get_by_label("Judge that writes guidelines").select_option("pupil")
    page.get_by_role("button", name="Show cost").click()
    page.get_by_text("too small: to find a gain of 10 points").wait_for()
    page.get_by_label("Gain to find").fill("35")
    page.get_by_role("button", name="Show cost").click()
    page.get_by_text("Nothing has been sent yet.").wait_for()
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Split answers and start").click()
    page.get_by_role("progressbar").wait_for()
    improving.run_improvement(improvement_id=Improvement.objects.get().pk)
    page.reload()
    page.get_by_text("The wording “learned 1: guidelines@4” was shown to be better.").wait_for()
    page.get_by_text("What “learned 1: guidelines@4” adds").click()
    page.get_by_text("Choose the kind response").first.wait_for()
    is_well_in_both_themes(page)

    Item.objects.filter(key__endswith="-3").update(first_person="")
    page.goto(reverse("improving:list", args=["taught"]))
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Show items").click()
    page.get_by_text("as many items by chance").wait_for()
    is_well_in_both_themes(page)
