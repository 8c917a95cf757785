"""A red team: scripted Chromium that answers as models do, somebody who pastes, and a person.

Only the times are not waited for: the stored ones are replaced by those of the policy.
"""

import random
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from annotation.machine_signs import FLAGGED
from annotation.models import Annotation
from annotation.quality import Quality, quality_of
from studies.models import Item, Study
from tests.browser.annotators import enter_items, make_everyday_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ITEMS = 10
# Each fills in ten pages. What comes of the figures is tested without a browser.
SOME = pytest.mark.sampled(keep=1, group="programs at work")
HIDES = "Object.defineProperty(Navigator.prototype, 'webdriver', {get: () => false})"


@pytest.fixture
def study(live_server) -> Study:
    study = make_everyday_study(items=ITEMS)
    for number, item in enumerate(Item.objects.order_by("pk")):
        item.question = f"{item.question} " * (1 + number)
        item.save()
    return study


def work(page: Page, study: Study, answer: Callable[[Page, random.Random], None]) -> None:
    """Answer all items, each after what `answer` does on its page."""
    rng = random.Random(4)
    enter_items(page, study)
    for number in range(1, ITEMS + 1):
        answer(page, rng)
        page.wait_for_url("**/feedback/" if number == ITEMS else f"**/task/{number + 1}/")


def take(seconds: float, exponent: float, spread: float) -> Quality:
    """Let the answers have taken times with this growth and spread; return the figures."""
    rng = random.Random(5)
    for row in Annotation.objects.select_related("assignment__item"):
        length = len(row.assignment.item.question.split()) / 55
        took = round(seconds * length**exponent * rng.lognormvariate(0, spread) * 1000)
        row.elapsed_ms = row.active_ms = took
        row.save()
    (found,) = quality_of(Study.objects.get()).values()
    return found


def names(found: Quality) -> set[str]:
    return {sign.name for sign in found.signs or ()}


def as_model(page: Page, rng: random.Random) -> None:
    page.click(f"label[for=choice-{rng.choice('ab')}]")
    page.click("#certainty")
    page.keyboard.type(str(rng.randrange(70, 90, 5)))
    page.click("#submit")


def by_hand(page: Page, rng: random.Random) -> None:
    """Move the mouse on the way to what is pressed."""
    for target in (f"label[for=choice-{rng.choice('ab')}]", "#certainty", "#submit"):
        box = page.locator(target).first.bounding_box()
        assert box
        page.mouse.move(box["x"] + 5, box["y"] + box["height"] / 2, steps=20)
        page.mouse.down()
        page.mouse.up()
        if target == "#certainty":
            page.keyboard.type(str(rng.randrange(20, 100)))


def as_paster(page: Page, rng: random.Random) -> None:
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+c")
    by_hand(page, rng)


def test_a_driven_browser_is_flagged(open_page, study):
    work(open_page(), study, as_model)

    found = take(9, 0, 0.4)

    assert {"driven", "jumps"} <= names(found)
    assert "machine" in found.rules


@SOME
def test_a_browser_that_hides_it_and_waits_like_a_person_is_flagged(open_page, study):
    page = open_page()
    page.add_init_script(HIDES)
    work(page, study, as_model)

    found = take(25, 0, 0.4)

    assert "driven" not in names(found)
    assert {"jumps", "certainty"} <= names(found)
    assert "machine" in found.rules


@SOME
def test_answers_set_by_a_script_are_seen(open_page, study):
    page = open_page()
    page.add_init_script(HIDES)

    def by_script(page: Page, rng: random.Random) -> None:
        page.evaluate(
            "document.querySelector('#choice-a').click();"
            "document.querySelector('#certainty').value = '75';"
            "document.querySelector('[data-item-form]').requestSubmit()"
        )

    work(page, study, by_script)

    found = take(25, 0.6, 0.4)
    assert {"scripted", "untouched"} <= names(found)
    assert "machine" in found.rules


@SOME
def test_somebody_who_copies_every_item_is_flagged(open_page, study):
    page = open_page()
    page.add_init_script(HIDES)
    work(page, study, as_paster)

    found = take(30, 0.6, 0.5)

    assert names(found) == {"copied"}
    assert "machine" in found.rules


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("hand", ["mouse", "keyboard"])
def test_a_person_is_not_flagged(open_page, study, hand):
    page = open_page()
    page.add_init_script(HIDES)

    def by_keys(page: Page, rng: random.Random) -> None:
        for key in [rng.choice("ab"), "c", str(rng.randrange(1, 10)), "2", "Enter"]:
            page.keyboard.press(key)

    work(page, study, by_hand if hand == "mouse" else by_keys)

    found = take(25, 0.6, 0.4)
    assert found.signs == ()
    assert found.machine_points == 0 < FLAGGED
