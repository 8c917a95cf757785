"""Watched sets in a real browser: axe, a phone, and the way from a cost to a judge that moved."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from extras.watching.looks import follow_up, look_and_wait
from extras.watching.models import WatchedSet
from judging.runs import lifecycle
from tests.analysis.labelled_items import make_certifiable
from tests.browser.conftest import is_well_in_both_themes
from tests.extras.watching.test_looks import moved, reply
from tests.judging.conftest import engine, judge, llm  # noqa: F401
from tests.judging.run_helpers import judge_all

pytestmark = [
    pytest.mark.sampled(keep=1, group="watching in watching"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.mark.nightly
def test_a_set_is_frozen_watched_and_read_by_keyboard(signed_in, judge, llm):  # noqa: F811
    User.objects.create_superuser("ada", password="a good long secret")
    llm.answer = reply
    run = judge_all(make_certifiable(40, slug="one"), judge, setting="certainty")
    page = signed_in()

    page.goto(reverse("watching:list", args=["one"]))
    is_well_in_both_themes(page)
    page.get_by_label("Items", exact=True).fill("40")
    page.get_by_label("Baseline rounds").fill("3")
    page.get_by_role("button", name="Show cost").press("Enter")
    page.get_by_text("The baseline asks 120 questions").wait_for()
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Freeze set and ask").press("Enter")
    page.get_by_text("A round of the baseline is being asked.").wait_for()
    is_well_in_both_themes(page)
    for _ in range(3):
        lifecycle.work_off(run_id=run.pk)
        follow_up()
    page.reload()
    page.get_by_text("The baseline is complete.").wait_for()

    page.get_by_role("button", name="Look now").press("Enter")
    page.get_by_text("A look is being asked.").wait_for()
    lifecycle.work_off(run_id=run.pk)
    follow_up()
    page.reload()
    page.get_by_text("Nothing shown after 1 look.").wait_for()
    is_well_in_both_themes(page)
    llm.answer = moved
    for _ in range(4):
        look_and_wait(WatchedSet.objects.get(), inline=True)
    page.goto(reverse("studies:detail", args=["one"]))
    page.get_by_role("link", name="Open watched set").press("Enter")
    page.get_by_text("Judge moved: its answers").wait_for()
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Mark as read").press("Enter")
    page.get_by_role("button", name="Stop watching").press("Enter")
    page.get_by_text("Watching was stopped").wait_for()
    page.goto(reverse("watching:list", args=["one"]))
    is_well_in_both_themes(page)
