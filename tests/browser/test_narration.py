"""The way of a participant as a screen reader tells it, by keyboard, on small windows."""

import pytest
from playwright.sync_api import expect

from annotation.models import Annotator
from tests.browser.annotators import add_checks, enter, make_everyday_study, press_until
from tests.browser.narration import fits_small_windows, narrated

# `test_whole_way.py` goes by keyboard alone and reads one item, `test_participants.py` has axe's
# rules and all widths, by default.
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.nightly,
]


def test_every_page_to_the_end_is_complete_for_a_screen_reader(open_page, live_server):
    study = make_everyday_study(items=1)
    add_checks(study)
    right = study.comprehension_questions.get().right
    page = open_page()

    def told(heading):
        fits_small_windows(page)
        nodes = narrated(page)
        title = next(node.name for node in nodes["heading"] if node.properties["level"] == 1)
        assert heading in title
        assert study.title in page.title()
        return nodes

    def pressed(wanted, *keys):
        press_until(page, wanted, *keys)

    enter(page, study)
    nodes = told("Before you begin")
    assert {"I agree, continue", "I do not want to take part"} <= {n.name for n in nodes["button"]}
    pressed("consent-yes", "Enter")

    page.wait_for_url("**/instructions/")
    told("How it works")
    pressed("submit", "Enter")

    page.wait_for_url("**/quiz/1/")
    nodes = told("?")
    assert len(nodes["radio"]) >= 2
    assert {node.properties["checked"] for node in nodes["radio"]} == {"false"}
    pressed("submit", "Enter")
    expect(page.locator("[role=alert]").first).to_be_visible()
    assert narrated(page)["alert"]
    pressed("answer-0", "Space", *["ArrowDown"] * right)
    pressed("submit", "Enter")

    page.wait_for_url("**/practice/")
    told("Which response")
    pressed("choice-a", "Space")
    pressed("certainty", "6", "0")
    pressed("submit", "Enter")
    page.wait_for_selector("[name=understood]")
    told("")
    page.locator("[name=understood]").focus()
    page.keyboard.press("Enter")

    page.wait_for_url("**/task/1/")
    nodes = told("Which response would this person prefer?")
    assert [node.name for node in nodes["radio"]] == ["Response A", "Response B"]
    assert nodes["textbox"][0].value == ""
    # The tree has the slider's number alone; screen readers say this text for it.
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "not set")
    pressed("submit", "Enter")
    expect(page.locator(".error-summary")).to_be_focused()
    nodes = narrated(page)
    assert [node.name for node in nodes["alert"]] == ["There is a problem"]
    assert nodes["textbox"][0].properties["invalid"] == "true"
    pressed("choice-a", "ArrowDown")
    pressed("certainty", "7", "2")
    expect(page.locator("[data-band-spoken]")).to_have_text("72, Confident")
    nodes = narrated(page)
    assert [node.properties["checked"] for node in nodes["radio"]] == ["false", "true"]
    assert (nodes["textbox"][0].value, nodes["slider"][0].value) == ("72", "72")
    assert {node.properties["live"] for node in nodes["status"]} == {"polite"}
    pressed("submit", "Enter")

    page.wait_for_url("**/feedback/")
    told("")
    pressed("submit", "Enter")
    page.wait_for_url("**/done/")
    nodes = told("You have finished")
    assert "Return to Prolific and register completion" in {node.name for node in nodes["link"]}
    assert Annotator.objects.get().state == "completed"
