"""Where the item page puts the person, the question, the responses and the answer bar."""

import pytest
from playwright.sync_api import expect

from studies.models import Item
from tests.browser.annotators import CAR, CYCLE, PERSONA, enter_items, make_everyday_study
from tests.browser.conftest import DESKTOP, PHONE, fits_and_reads_well
from tests.factories import make_item, make_persona

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NARROW_DESKTOP = {"width": 1100, "height": 800}
MANY = PERSONA + [
    (
        f"value_{n}",
        f"Value {n}",
        "Fairly important in life, more than to most people",
        f"Value {n} is fairly important.",
    )
    for n in range(16)
]
# What of an element's box is in the window and not under the answer bar.
VISIBLE = """([selector, bar]) => {
    const box = document.querySelector(selector).getBoundingClientRect();
    const over = bar && document.querySelector('.answer-bar').getBoundingClientRect().top;
    const end = over || innerHeight;
    return box.top >= 0 && box.bottom <= end && box.height > 0;
}"""


def top(page, selector: str) -> float:
    return page.locator(selector).bounding_box()["y"]


def make_long_study(**overrides):
    """One item with a long profile and a long response."""
    study = make_everyday_study(items=0, items_per_annotator=1, **overrides)
    features = [{"key": k, "label": n, "value": v, "text": t} for k, n, v, t in MANY]
    make_item(
        study=study,
        persona=make_persona(study=study, features=features),
        r1={"text": CYCLE * 6},
        r2={"text": CAR},
    )
    return study


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("size", [DESKTOP, NARROW_DESKTOP], ids=["1280", "1100"])
@pytest.mark.parametrize("control", ["slider", "number", "levels"])
def test_a_desktop_shows_a_whole_item_of_ordinary_length_without_scrolling(
    open_page, live_server, size, control
):
    study = make_everyday_study(items=1, certainty_control=control)
    page = open_page(viewport=size)
    enter_items(page, study)

    for part in (".person .panel", ".question", "label[for=choice-a]", "label[for=choice-b]"):
        assert page.evaluate(VISIBLE, [part, True]), part
    for keys in ("", "b", "35"):
        page.keyboard.type(keys)
        assert page.locator(".answer-bar").bounding_box()["height"] <= 72
        assert page.evaluate(VISIBLE, ["#submit", False])
    assert page.evaluate("scrollY") == 0
    person, task = (page.locator(name).bounding_box() for name in (".person", ".task"))
    assert person["x"] + person["width"] < task["x"]
    assert abs(person["y"] - task["y"]) < 1


def test_the_person_stays_in_view_next_to_a_long_response(open_page, live_server):
    study = make_everyday_study(items=1)
    study.all_items.update(r1={"text": CYCLE * 12})
    page = open_page()
    enter_items(page, study)

    page.mouse.wheel(0, 300)
    expect(page.locator(".question")).not_to_be_in_viewport()

    assert page.evaluate(VISIBLE, [".person .panel", True])


def test_a_profile_longer_than_the_window_can_be_read_to_its_end_next_to_the_responses(
    open_page, live_server
):
    study = make_long_study(ask_certainty=False)
    study.all_items.update(r1={"text": CYCLE})
    page = open_page(viewport={"width": 1280, "height": 600})
    enter_items(page, study)

    page.mouse.wheel(0, 10_000)
    expect(page.locator(".person .facts > :last-child")).to_be_in_viewport(ratio=1)

    assert page.evaluate(VISIBLE, ["label[for=choice-a]", True])


@pytest.mark.nightly
def test_a_phone_shows_the_question_before_a_long_profile_ends(open_page, live_server):
    page = open_page(viewport=PHONE)
    enter_items(page, make_long_study())

    assert not page.evaluate(VISIBLE, [".person .panel", False])
    assert page.evaluate(VISIBLE, [".question", False])
    assert top(page, ".question") > top(page, ".person")

    page.locator(".choices h1").scroll_into_view_if_needed()
    assert page.locator(".facts > :last-child").first.bounding_box()["y"] < top(page, ".question")
    fits_and_reads_well(page)
    page.keyboard.press("a")
    fits_and_reads_well(page)


def test_a_long_question_does_not_cover_the_profile(open_page, live_server):
    study = make_long_study()
    study.all_items.update(question="What should I do about this? " * 12)
    page = open_page(viewport=PHONE)
    enter_items(page, study)

    assert top(page, ".question") > top(page, ".person") + 500


def test_a_phone_shows_question_and_short_profile_together(open_page, live_server):
    page = open_page(viewport=PHONE)
    enter_items(page, make_everyday_study(items=1))

    for part in (".person .panel", ".question", ".choices h1"):
        assert page.evaluate(VISIBLE, [part, False]), part


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("control", ["slider", "levels"])
def test_a_desktop_page_with_every_part_keeps_the_rules(open_page, live_server, control):
    study = make_long_study(
        allow_tie=True, certainty_control=control, ai_policy="Do not use assistants."
    )
    study.all_items.update(warnings=["violence"], context="Said in a chat.")
    page = open_page()
    enter_items(page, study)
    fits_and_reads_well(page)

    page.click("summary >> text=Show the item")
    page.click("#submit")
    page.wait_for_selector(".error-summary")

    fits_and_reads_well(page)
    page.check("#choice-tie")
    fits_and_reads_well(page)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no script"])
def test_a_long_context_is_opened_by_keyboard(open_page, study, javascript):
    Item.objects.update(context="Once upon a time there was a kitchen. " * 100)
    page = open_page(viewport=PHONE, javascript=javascript)
    enter_items(page, study)
    whole = page.locator(".folded details p")
    expect(whole).to_be_hidden()

    page.locator(".folded summary").focus()
    page.keyboard.press("Enter")

    expect(whole).to_be_visible()
    expect(page.locator(".folded-start")).to_be_hidden()
    if javascript:
        fits_and_reads_well(page)
