"""A study in Arabic on a phone: pages run from right to left, English items from left to right."""

import pytest
from playwright.sync_api import Locator, Page, expect

from annotation.models import Annotation, Annotator
from studies.models import Study
from tests.browser.annotators import add_quota, enter, enter_items, make_everyday_study
from tests.browser.conftest import DESKTOP, PHONE, fits_and_reads_well

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# Where two characters of a text are drawn, counted from the left.
LEFT_OF = """(element, wanted) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const left = (text) => {
    walker.currentNode = element;
    while (walker.nextNode()) {
      const at = walker.currentNode.data.indexOf(text);
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + text.length);
      return range.getBoundingClientRect().left;
    }
    throw Error(`${text} is not in ${element.textContent}`);
  };
  return wanted.map(left);
}"""


def is_left_to_right(locator: Locator, first: str, second: str) -> bool:
    lefts = locator.evaluate(LEFT_OF, [first, second])
    return lefts[0] < lefts[1]


def stands_right_of(page: Page, first: str, second: str) -> bool:
    boxes = [page.locator(name).bounding_box() for name in (first, second)]
    return boxes[0]["x"] > boxes[1]["x"]


def arabic_study(**more) -> Study:
    study = make_everyday_study(
        items=2,
        **{
            "language": "ar",
            "certainty_control": "slider",
            "allow_tie": True,
            "show_history": 1,
            "researchers": "Dr. A. Smith (UK).",
        }
        | more,
    )
    history = [{"prompt": "What should I cook?", "chosen": "Soup.", "rejected": "Rice."}]
    for item in study.all_items.select_related("persona"):
        item.persona.history = history
        item.persona.save(update_fields=["history"])
    return study


def press_as_on_an_arabic_keyboard(page: Page, letter: str, code: str) -> None:
    event = {"key": letter, "code": code, "bubbles": True, "cancelable": True}
    page.evaluate(
        "event => document.body.dispatchEvent(new KeyboardEvent('keydown', event))", event
    )


def test_a_whole_participation_in_arabic_on_a_phone(open_page, live_server):
    study = arabic_study()
    add_quota(study)
    page = open_page(viewport=PHONE)

    def look(words: str) -> None:
        expect(page.locator("html")).to_have_attribute("dir", "rtl")
        expect(page.locator("h1").first).to_contain_text(words)
        fits_and_reads_well(page)

    enter(page, study)
    look("قبل أن تبدأ")
    assert is_left_to_right(page.get_by_text("(UK)"), "Dr.", "(UK)")
    assert is_left_to_right(page.get_by_text("13.50"), "$13.50", "13.50")
    page.click("#consent-yes")
    page.wait_for_url("**/about/")
    look("معلومات عنك")
    assert is_left_to_right(page.get_by_text("What is your gender?"), "What", "?")
    page.click("#attr_gender-0")
    page.click("#attr_politics-0")
    page.click("#submit")
    page.wait_for_url("**/instructions/")
    look("طريقة العمل")
    page.click("#submit")
    for position, key in ((1, "a"), (2, "b")):
        page.wait_for_url(f"**/task/{position}/")
        look("أي رد يفضله هذا الشخص؟")
        page.keyboard.press(key)
        page.keyboard.type("72")
        page.click("#submit")
    page.wait_for_url("**/feedback/")
    look("هل هناك ما تود إخبارنا به؟")
    page.click("#submit")
    page.wait_for_url("**/done/")
    look("لقد انتهيت")

    assert Annotator.objects.get().state == "completed"
    answers = Annotation.objects.order_by("assignment__position")
    shown = answers.values_list("assignment__shown_first", "choice", "certainty")
    assert [(first == side, certainty) for first, side, certainty in shown] == [
        (True, 72),
        (False, 72),
    ]


def test_the_first_response_is_first_from_the_right_and_numbers_grow_to_the_right(
    open_page, live_server
):
    study = arabic_study()
    page = open_page(viewport=PHONE)
    enter_items(page, study)
    history = page.locator(".history p").first

    assert stands_right_of(page, ".chip[for=choice-a]", ".chip[for=choice-b]")
    assert is_left_to_right(page.locator(".levels dt").first, "1", "20")
    assert is_left_to_right(history, "What", "?")
    assert is_left_to_right(page.locator(".question"), "What", "?")

    page.keyboard.press("a")
    slider = page.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")  # the first press sets it to 50
    page.keyboard.press("ArrowRight")
    expect(page.locator("#certainty")).to_have_value("51")
    box = slider.bounding_box()
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
    assert int(page.locator("#certainty").input_value()) > 80

    page.set_viewport_size(DESKTOP)
    assert stands_right_of(page, "label.card[for=choice-a]", "label.card[for=choice-b]")
    assert stands_right_of(page, "#person", ".task")
    assert is_left_to_right(page.locator(".band"), "81", "100")


def test_keys_and_digits_of_an_arabic_keyboard_do_what_is_shown(open_page, live_server):
    study = arabic_study()
    page = open_page(viewport=PHONE)
    enter_items(page, study)

    press_as_on_an_arabic_keyboard(page, "ش", "KeyA")
    expect(page.locator("#choice-a")).to_be_checked()
    press_as_on_an_arabic_keyboard(page, "لا", "KeyB")
    expect(page.locator("#choice-b")).to_be_checked()
    press_as_on_an_arabic_keyboard(page, "٧", "Digit7")
    expect(page.locator("#certainty")).to_be_focused()
    page.locator("#certainty").fill("٧٥٪")
    expect(page.locator("[data-band] b")).to_have_text("متيقن")
    page.click("#submit")
    page.wait_for_url("**/task/2/")

    assert Annotation.objects.get().certainty == 75
