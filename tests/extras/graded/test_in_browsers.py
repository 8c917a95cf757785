"""Somebody grades items in a browser: by keys, after a reload, offline, without a script."""

import os

import pytest
from playwright.sync_api import expect

from annotation.models import Annotation, Draft
from extras.graded.models import Grades
from extras.graded.setup import set_questions
from tests.browser.annotators import enter_items, make_everyday_study
from tests.browser.conftest import DESKTOP, PHONE, fits_and_reads_well
from tests.extras.graded.answering import ALL, CRITERIA

pytestmark = [
    pytest.mark.sampled(keep=1, group="graded in in browsers"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def study(live_server):
    study = make_everyday_study(items=3, criteria=CRITERIA, allow_tie=True)
    set_questions(study_id=study.pk, wanted=ALL, user=None)
    return study


def pictured(page, name):
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def in_content(shown_first):
    scores = {"r1": (4, 1), "r2": (1, 4)}[shown_first]
    return (2, *scores, {"clear": shown_first, "kind": "tie"})


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_an_item_is_graded_by_keys_alone(open_page, study, viewport):
    page = open_page(viewport=viewport)
    enter_items(page, study)

    keys = ["a", "n", "2", "n", "4", "n", "1", "n", "a", "n", "t", "n"]
    for key in keys:
        page.keyboard.press(key)
    expect(page.locator("#choice-a")).to_be_checked()
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("No bus at 2 a.m.")
    pictured(page, f"graded-{viewport['width']}")
    fits_and_reads_well(page)
    page.locator("#submit").focus()
    page.keyboard.press("c")
    page.keyboard.type("72")
    page.keyboard.press("Enter")

    page.wait_for_url("**/task/2/")
    grades = Grades.objects.get()
    found = grades.strength, grades.score_1, grades.score_2, grades.criteria
    assert found == in_content(grades.answer.assignment.shown_first)
    assert grades.reason == "No bus at 2 a.m."
    # The time on the page includes the grades.
    assert 0 < grades.answer.active_ms <= grades.answer.elapsed_ms
    assert page.locator("[data-added] :checked").count() == 0
    page.keyboard.press("t")
    expect(page.locator(".not-with-tie")).to_be_hidden()
    page.keyboard.press("n")
    expect(page.locator("#score_a-1")).to_be_focused()


def test_what_was_entered_survives_a_reload_another_tab_and_a_lost_network(open_page, study):
    page = open_page()
    enter_items(page, study)
    with page.expect_response(lambda response: response.url.endswith("/draft/")):
        page.locator("label[for=strength-3]").click()
        page.fill("#reason", "Half a sen")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#reason")).to_have_value("Half a sen")
    with other.expect_response(lambda response: response.url.endswith("/draft/")):
        other.locator("label[for=score_a-5]").click()
    expect(page.locator("#score_a-5")).to_be_checked()
    page.reload()
    expect(page.locator("#strength-3")).to_be_checked()
    expect(page.locator("#score_a-5")).to_be_checked()
    other.close()

    page.context.set_offline(True)
    for name in ("choice-b", "score_b-2", "criterion_1-b", "criterion_2-b"):
        page.locator(f"label[for={name}]").first.click()
    page.fill("#certainty", "60")
    page.click("#submit")
    expect(page.locator("[data-offline]")).to_contain_text("kept on this device")
    assert not Annotation.objects.exists()
    page.context.set_offline(False)

    page.wait_for_url("**/task/2/")
    assert (Grades.objects.get().strength, Grades.objects.get().reason) == (3, "Half a sen")
    assert not Draft.objects.exists()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_without_a_script_faults_are_named_and_the_grades_are_stored(open_page, study, viewport):
    page = open_page(javascript=False, viewport=viewport)
    enter_items(page, study)

    page.locator("label[for=choice-a]").first.click()
    page.locator("label[for=score_a-4]").click()
    page.click("#submit")
    expect(page.locator(".error-summary")).to_contain_text("Give response B a score from 1 to 5")
    expect(page.locator("#score_a-4")).to_be_checked()
    pictured(page, f"graded-faults-{viewport['width']}")
    for name in ("strength-2", "score_b-1", "criterion_1-a", "criterion_2-tie"):
        page.locator(f"label[for={name}]").click()
    page.fill("#reason", "It is flat")
    page.fill("#certainty", "55")
    page.click("#submit")

    page.wait_for_url("**/task/2/")
    grades = Grades.objects.get()
    found = grades.strength, grades.score_1, grades.score_2, grades.criteria
    assert found == in_content(grades.answer.assignment.shown_first)
