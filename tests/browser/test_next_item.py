"""The next item comes with the response to an answer, and is like a page that was opened."""

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Annotation, AnnotationRevision, Draft
from studies.models import Item
from tests.browser.annotators import enter_items
from tests.browser.conftest import DESKTOP, PHONE, fits_and_reads_well, until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SIZES = pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["390", "1280"])


def answer(page, choice="a", certainty="50"):
    page.check(f"#choice-{choice}")
    page.fill("#certainty", certainty)
    page.click("#submit")


def answer_and_wait(page, position, **entries):
    answer(page, **entries)
    page.wait_for_url(f"**/task/{position + 1}/")
    expect(page.locator(".progress")).to_contain_text(f"{position + 1} of 3")


@pytest.mark.sampled(keep=1)
@SIZES
def test_an_answer_and_the_next_item_are_one_request(open_page, study, size):
    page = open_page(viewport=size)
    enter_items(page, study)
    page.wait_for_load_state("networkidle")
    asked = []
    page.on(
        "request",
        lambda r: asked.append((r.method, r.url)) if not r.url.endswith("/draft/") else None,
    )
    base = page.url.removesuffix("1/")

    answer_and_wait(page, 1)
    answer_and_wait(page, 2)

    assert asked == [("POST", f"{base}1/"), ("POST", f"{base}2/")]
    answer(page)
    page.wait_for_url("**/feedback/")
    assert Annotation.objects.count() == AnnotationRevision.objects.count() == 3


def test_the_first_item_takes_few_requests(open_page, study):
    """The page, two style sheets, two scripts, and one for the time limit."""
    page = open_page(viewport=PHONE)
    asked = []
    page.on("request", lambda r: asked.append(r.url) if r.url.startswith("http") else None)

    enter_items(page, study)
    page.wait_for_load_state("networkidle")

    assert page.locator("[data-deadline]").count() == 1
    assert len(asked) == len(set(asked)) == 6


@pytest.mark.sampled(keep=1)
@SIZES
def test_the_next_item_is_read_from_its_beginning(open_page, study, size):
    page = open_page(viewport=size)
    enter_items(page, study)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")

    answer_and_wait(page, 1)

    assert page.title() == "Item 2 of 3 – Everyday choices"
    assert page.evaluate("scrollY") == 0
    assert page.evaluate("document.activeElement.textContent") == "About the person"
    expect(page.locator("[data-spoken]")).to_have_text("Item 2 of 3 – Everyday choices")
    assert page.locator("[role=slider], input[type=range]").count() == 1
    assert page.locator("input:checked[name=choice]").count() == 0
    fits_and_reads_well(page)


def test_the_way_goes_on_with_keys_alone(page):
    for position in (1, 2):
        page.keyboard.press("b")
        page.keyboard.type("72", delay=20)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/task/{position + 1}/")

    assert list(Annotation.objects.values_list("certainty", flat=True)) == [72, 72]


def test_what_listened_to_the_first_item_is_gone(page):
    answer_and_wait(page, 1)
    sent = []
    page.on("request", lambda r: sent.append(r.url) if r.method == "POST" else None)

    with page.expect_response(lambda response: response.url.endswith("/draft/")):
        page.keyboard.press("b")
        page.keyboard.type("33")

    page.wait_for_timeout(800)
    assert {url.rsplit("/task/")[1] for url in sent} == {"2/draft/"}
    draft = Draft.objects.get()
    assert (draft.assignment.position, draft.certainty) == (2, "33")


def test_active_time_begins_anew(open_page, study):
    page = open_page()
    page.clock.install()
    enter_items(page, study)
    sent = []  # what is stored is cut to the server's clock, which this test cannot move
    page.on("request", lambda r: sent.append(r.post_data or "") if r.method == "POST" else None)
    page.keyboard.press("a")
    page.clock.run_for(30_000)
    answer(page)
    page.wait_for_url("**/task/2/")

    page.keyboard.press("a")
    page.clock.run_for(5_000)
    answer(page)
    page.wait_for_url("**/task/3/")

    bodies = [body for body in sent if "stamp" not in body]
    first, second = (int(re.findall(r"active_ms\D+(\d+)", body)[0]) for body in bodies)
    assert first >= 30_000 > 15_000 > second >= 5_000


def test_back_and_forward_lead_through_the_items(page):
    answer_and_wait(page, 1, choice="b", certainty="41")
    answer_and_wait(page, 2, choice="a", certainty="42")

    page.go_back()
    expect(page.locator("#certainty")).to_have_value("42")
    expect(page.locator(".progress")).to_contain_text("2 of 3")
    page.go_back()
    expect(page.locator("#certainty")).to_have_value("41")
    assert page.is_checked("#choice-b")
    page.go_forward()
    expect(page.locator("#certainty")).to_have_value("42")
    page.go_forward()
    expect(page.locator(".progress")).to_contain_text("3 of 3")
    assert page.input_value("#certainty") == ""


# As if Back were pressed between the last line of the page and its script.
BACK_BEFORE_THE_SCRIPT = """
document.addEventListener("readystatechange", () => {
  if (document.readyState === "interactive" && location.pathname.endsWith("/task/2/"))
    history.replaceState(null, "", "../1/");
});
"""


def test_back_before_the_script_of_the_page_runs_leads_to_the_item_before(page):
    answer_and_wait(page, 1, choice="b", certainty="41")
    answer_and_wait(page, 2, choice="a", certainty="42")
    page.add_init_script(BACK_BEFORE_THE_SCRIPT)

    page.go_back()

    expect(page.locator("#certainty")).to_have_value("41")
    assert page.url.endswith("/task/1/")


def test_a_reload_shows_the_item_that_was_there(page):
    answer_and_wait(page, 1)

    page.reload()

    assert page.url.endswith("/task/2/")
    assert "2 of 3" in page.inner_text(".progress")
    assert page.input_value("#certainty") == ""


def test_coming_back_from_another_page_shows_the_item_that_was_left(page):
    answer_and_wait(page, 1)
    page.click("text=Pause")
    page.wait_for_url("**/pause/")

    page.go_back()

    expect(page.locator(".progress")).to_contain_text("2 of 3")
    answer_and_wait(page, 2)
    assert list(Annotation.objects.values_list("assignment__position", flat=True)) == [1, 2]


def test_a_link_within_the_page_stays_on_the_item(page):
    answer_and_wait(page, 1)
    page.check("#choice-a")

    page.evaluate("location.hash = 'person'")
    page.go_back()

    page.wait_for_timeout(300)
    assert page.is_checked("#choice-a")
    assert "2 of 3" in page.inner_text(".progress")


def test_sheets_and_the_answer_without_a_network_work_at_the_next_item(page):
    answer_and_wait(page, 1)
    page.click("text=Help")
    until(page, "document.getElementById('help-dialog').open")
    page.keyboard.press("Escape")
    page.check("#choice-a")
    page.fill("#certainty", "60")
    page.context.set_offline(True)

    page.click("#submit")

    expect(page.locator("[data-offline]")).to_contain_text("kept on this device")
    page.context.set_offline(False)
    page.wait_for_url("**/task/3/")
    assert list(Annotation.objects.values_list("certainty", flat=True)) == [50, 60]


def test_an_item_with_a_warning_waits_to_be_opened(open_page, study):
    Item.objects.update(warnings=["death"])
    page = open_page(viewport=PHONE)
    enter_items(page, study)
    page.click("summary:has-text('Show the item')")

    answer(page)

    page.wait_for_url("**/task/2/")
    assert page.evaluate("document.activeElement.textContent") == "Before you read on"
    assert not page.is_visible("#choice-a")
