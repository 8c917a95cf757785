"""Browsers without what is newer than docs/browsers.md promises, as Chromium can play them.

`make test-browsers` opens the pages in real ones.
"""

from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from annotation.models import Annotation
from studies.models import Item, Study
from tests.annotation.pages.test_whole_sets import whole_study
from tests.browser.annotators import enter_items, make_everyday_study
from tests.browser.conftest import DESKTOP, PHONE, SMALL_PHONE, scrolls_sideways

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# What iOS 15.0 lacks of what pages may be tempted to use.
TAKE_AWAY = """
  delete AbortSignal.timeout;
  delete AbortSignal.any;
  delete HTMLFormElement.prototype.requestSubmit;
  delete HTMLDialogElement.prototype.showModal;
  delete HTMLDialogElement.prototype.close;
  delete Array.prototype.at;
  delete Array.prototype.findLast;
  delete Object.hasOwn;
  delete window.structuredClone;
"""
CANNOT_SEND = {
    "fetch fails": "window.fetch = () => Promise.reject(new TypeError('blocked'))",
    "no fetch": "delete window.fetch",
}


def without_has(route) -> None:
    """A style sheet whose rules with `:has()` the browser does not understand."""
    response = route.fetch()
    route.fulfill(response=response, body=response.text().replace(":has(", ":unknown("))


def without_files_inside(route) -> None:
    """A page as a browser gets it that does not say where it comes from, with links to styles."""
    if route.request.is_navigation_request() and route.request.method == "GET":
        route.fulfill(response=route.fetch())
    else:
        route.fallback()


@pytest.fixture
def open_older(open_page):
    def open_older(**options) -> Page:
        page = open_page(**options)
        page.add_init_script(TAKE_AWAY)
        page.route("**/task/*/", without_files_inside)
        page.route("**/*.css", without_has)
        return page

    return open_older


def answer(page: Page, choice: str = "a", certainty: str = "50") -> None:
    page.check(f"#choice-{choice}")
    page.fill("#certainty", certainty)
    page.click("#submit")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["390", "1280"])
def test_an_older_browser_answers_every_item(open_older, study, size):
    page = open_older(viewport=size)
    enter_items(page, study)

    for position in (2, 3):
        answer(page)
        page.wait_for_url(f"**/task/{position}/")
    page.keyboard.press("b")
    page.keyboard.type("72", delay=20)
    page.keyboard.press("Enter")
    page.wait_for_url("**/feedback/")

    answers = Annotation.objects.order_by("certainty")
    assert list(answers.values_list("certainty", flat=True)) == [50, 50, 72]


def test_an_older_browser_shows_what_is_chosen(open_older, live_server):
    study = make_everyday_study(items=1, allow_tie=True)
    Item.objects.update(context="A long context. " * 200)
    page = open_older()
    enter_items(page, study)
    expect(page.locator("input[type=range]")).to_be_visible()
    page.click(".folded summary")
    expect(page.locator(".folded-start")).to_be_hidden()
    expect(page.locator(".is-none")).to_be_visible()

    page.check("#choice-a")

    expect(page.locator(".is-none")).to_be_hidden()
    expect(page.locator(".is-a")).to_be_visible()
    expect(page.locator(".card-selected").first).to_be_visible()
    assert _border(page, ".card >> nth=0") == "4px"
    page.check("#choice-tie")
    expect(page.locator(".certainty")).to_be_hidden()
    expect(page.locator(".tie-note")).to_be_visible()
    page.reload()
    expect(page.locator(".is-tie")).to_be_visible()


def test_an_older_browser_marks_the_place_of_a_response(open_older, live_server):
    page = open_older()
    enter_items(page, only_sets())
    unmarked = _ground(page, ".place >> nth=0")

    page.check("#place-a-1")

    assert _ground(page, ".place >> nth=0") != unmarked
    page.check("#place-b-1")
    assert _ground(page, ".place >> nth=0") == unmarked


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("opener", "sheet"), [("text=Help", "#help-dialog"), (".chip-person", "#profile-dialog")]
)
def test_an_older_browser_opens_and_closes_sheets(open_older, study, opener, sheet):
    page = open_older(viewport=PHONE)
    enter_items(page, study)
    expect(page.locator(sheet)).to_be_hidden()

    page.click(opener)

    expect(page.locator(f"{sheet} h2")).to_be_in_viewport()
    page.click(f"{sheet} form[method=dialog] button")
    expect(page.locator(sheet)).to_be_hidden()
    answer(page)
    page.wait_for_url("**/task/2/")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("problem", CANNOT_SEND)
def test_the_form_sends_what_the_script_cannot(open_page, study, problem):
    page = open_page()
    page.add_init_script(CANNOT_SEND[problem])
    enter_items(page, study)

    for position in (2, 3):
        answer(page)
        page.wait_for_url(f"**/task/{position}/")

    page.go_back()
    expect(page.locator("#certainty")).to_have_value("50")
    page.wait_for_timeout(3_000)  # What was sent by the form does not go out again by itself.
    assert page.url.endswith("/task/2/")
    assert Annotation.objects.count() == 2


@pytest.mark.nightly
def test_a_server_out_of_reach_is_waited_for_also_after_the_second_try(page):
    tried = []

    def fail(route):
        tried.append(route.request.resource_type)
        route.abort()

    page.context.route("**/task/1/", fail)

    answer(page)

    for _ in range(120):
        if tried.count("fetch") == 3:
            break
        page.wait_for_timeout(200)
    assert "document" not in tried
    assert tried.count("fetch") == 3
    assert page.url.endswith("/task/1/")
    expect(page.locator("[data-offline]")).to_contain_text("cannot reach the server")


def test_an_untouched_slider_is_seen_in_forced_colours(page):
    page.emulate_media(forced_colors="active")

    picture = Image.open(BytesIO(page.locator("input[type=range]").screenshot()))

    assert len(picture.convert("RGB").getcolors() or range(1000)) > 1


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("part", ["progress", "[data-shortcuts]", "#choice-a"])
def test_forced_colours_take_no_state_away(page, part):
    page.emulate_media(forced_colors="active")

    drawn_by = page.locator(part).evaluate("e => getComputedStyle(e).appearance")

    assert drawn_by == "auto"


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("ranks", [False, True], ids=["choice", "ranks"])
@pytest.mark.parametrize("width", [320, 390, 768, 1100, 1280])
def test_larger_text_keeps_everything_on_the_screen(open_page, live_server, width, ranks):
    study = only_sets() if ranks else make_everyday_study(items=1, allow_tie=True)
    page = open_page(viewport={"width": width, "height": SMALL_PHONE["height"] + 200})
    enter_items(page, study)

    page.evaluate("document.documentElement.style.fontSize = '170%'")

    outside = page.evaluate(
        """() => [...document.querySelectorAll('.masthead *, main *')]
           .filter(e => e.checkVisibility() && !e.closest('.visually-hidden, dialog'))
           .filter(e => { const box = e.getBoundingClientRect();
                          return box.width && (box.right > innerWidth + 1 || box.left < -1); })
           .map(e => e.outerHTML.slice(0, 80))"""
    )
    assert outside == []
    assert not scrolls_sideways(page)
    if not ranks:
        page.check("#choice-a")
        page.fill("#certainty", "72")
        assert not scrolls_sideways(page)


def _border(page: Page, selector: str) -> str:
    return page.locator(selector).evaluate("e => getComputedStyle(e).borderTopWidth")


def only_sets() -> Study:
    """A study whose first item is a whole set, whoever comes."""
    study = whole_study()
    study.all_items.filter(key="x3").update(seats_needed=0)
    return study


def _ground(page: Page, selector: str) -> str:
    return page.locator(selector).evaluate("e => getComputedStyle(e).backgroundColor")
