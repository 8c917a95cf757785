"""Comprehension check, practice and their set-up in Chromium: they work, fit and pass axe."""

import pytest
from django.contrib.auth.models import User

from annotation.content.comprehension import set_questions, standard_questions
from annotation.models import Annotator
from studies.models import Membership
from tests.browser.annotators import CYCLE, enter, make_everyday_study
from tests.browser.conftest import SMALL_PHONE, fits_and_reads_well, scrolls_sideways
from tests.factories import make_item

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study(live_server):
    study = make_everyday_study(items=2, ai_policy="Please answer **without** an assistant.")
    set_questions(study_id=study.pk, questions=standard_questions(study))
    make_item(
        study=study,
        split="practice",
        key="practice-1",
        question="How do I get to work?",
        r1={"text": CYCLE},
        r2={"text": "Take the car."},
        fixed_first="r1",
        metadata={"feedback": "The person repairs bicycles."},
    )
    for n in (1, 2):
        make_item(
            study=study,
            split="attention_check",
            key=f"check-{n}",
            check_answer="r1",
            question="Please select the response about bicycles, to show that you read.",
            r1={"text": "Bicycles."},
            r2={"text": "Cars."},
        )
    return study


def keeps_the_rules(page, javascript):
    """Axe is a script itself."""
    assert page.locator("h1").count() == 1
    if javascript:
        fits_and_reads_well(page)
    else:
        assert not scrolls_sideways(page)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("javascript", [True, False], ids=["javascript", "no javascript"])
def test_the_way_through_every_check(open_page, study, javascript):
    page = open_page(viewport=SMALL_PHONE, javascript=javascript)
    enter(page, study)
    page.click("#consent-yes")
    page.click("#submit")

    page.wait_for_url("**/quiz/1/")
    keeps_the_rules(page, javascript)
    page.check("#answer-0")
    page.click("#submit")
    page.get_by_text("The instructions say:").wait_for()
    keeps_the_rules(page, javascript)
    for number, question in enumerate(study.comprehension_questions.all(), 1):
        page.wait_for_url(f"**/quiz/{number}/")
        page.check(f"#answer-{question.right}")
        page.click("#submit")
    page.wait_for_url("**/practice/")
    keeps_the_rules(page, javascript)
    page.check("#choice-b")
    page.fill("#certainty", "40")
    page.click("#submit")
    page.get_by_role("heading", name="The person’s own answer was the other one").wait_for()
    keeps_the_rules(page, javascript)
    page.click("#submit")
    for position in range(1, 5):
        page.wait_for_url("**/task/**" if position == 1 else f"**/task/{position}/")
        page.check("#choice-a")
        page.fill("#certainty", "50")
        page.click("#submit")
    page.wait_for_url("**/feedback/")

    assert Annotator.objects.get().state == "annotating"


def test_who_misses_twice_reads_a_friendly_end(open_page, study):
    page = open_page(viewport=SMALL_PHONE)
    enter(page, study)
    page.click("#consent-yes")
    page.click("#submit")
    for _ in range(2):
        page.wait_for_url("**/quiz/1/")
        page.check("#answer-2")
        page.click("#submit")
    page.wait_for_url("**/done/")

    assert "This is not a rejection" in page.inner_text("main")
    fits_and_reads_well(page)


def test_researchers_set_up_checks(signed_in, study):
    editor = User.objects.create_user("editor")
    Membership.objects.create(user=editor, study=study, role=Membership.Role.EDITOR)
    page = signed_in(viewport=SMALL_PHONE)
    page.goto(f"/studies/{study.slug}/people/checks/")
    fits_and_reads_well(page)

    page.click("summary >> text=Import questions as a file")
    page.fill("#questions", "[[question")
    page.get_by_role("button", name="Replace the questions").click()
    page.get_by_role("heading", name="There is a problem").wait_for()
    fits_and_reads_well(page)
