"""The certainty in Chromium: slider, number box, levels; by finger, mouse and keys."""

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Annotation
from tests.browser.annotators import enter_items, make_everyday_study
from tests.browser.conftest import PHONE, SMALL_PHONE, fits_and_reads_well, until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def slider(page):
    return page.get_by_role("slider")


def test_the_certainty_has_no_value_and_no_thumb_before_the_first_touch(page):
    assert page.input_value("#certainty") == ""
    assert slider(page).get_attribute("aria-valuetext") == "not set"
    assert "unset" in slider(page).get_attribute("class")
    assert page.locator("input:checked[name=choice]").count() == 0


def test_the_track_is_plain(page):
    assert slider(page).get_attribute("step") is None
    assert slider(page).get_attribute("list") is None


def test_slider_and_number_stay_in_step(page):
    page.fill("#certainty", "72")
    assert slider(page).input_value() == "72"
    assert slider(page).get_attribute("aria-valuetext") == "72, Confident"
    assert "Confident (61–80)" in page.inner_text("#certainty-band")

    slider(page).focus()
    for key, value in [
        ("ArrowRight", "73"),
        ("ArrowUp", "74"),
        ("ArrowLeft", "73"),
        ("ArrowDown", "72"),
        ("PageUp", "82"),
        ("PageDown", "72"),
        ("Home", "1"),
        ("ArrowLeft", "1"),
        ("End", "100"),
        ("PageUp", "100"),
    ]:
        page.keyboard.press(key)
        assert (page.input_value("#certainty"), slider(page).input_value()) == (value, value), key

    page.fill("#certainty", "abc")
    assert slider(page).get_attribute("aria-valuetext") == "not set"


LEVELS = {
    "Uncertain": (1, 20),
    "Moderately Confident": (21, 40),
    "Quite Confident": (41, 60),
    "Confident": (61, 80),
    "Highly Confident": (81, 100),
}


@pytest.mark.nightly
def test_the_level_is_named_and_spoken(page):
    for name, ends in LEVELS.items():
        for certainty in ends:
            page.fill("#certainty", str(certainty))

            assert page.inner_text("#certainty-band").startswith(f"{certainty}, {name} (")
        # It is spoken when the hand rests, which takes a moment.
        expect(page.locator("[data-band-spoken]")).to_have_text(f"{certainty}, {name}")


def test_a_click_on_the_track_sets_the_certainty_also_in_the_middle(page):
    box = slider(page).bounding_box()

    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    assert 49 <= int(page.input_value("#certainty")) <= 52
    assert "unset" not in slider(page).get_attribute("class")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("certainty", ["", "30"])
def test_a_finger_that_scrolls_from_the_slider_leaves_it_as_it_was(open_page, study, certainty):
    page = open_page(viewport=PHONE, has_touch=True, is_mobile=True)
    enter_items(page, study)
    page.check("#choice-a")
    page.fill("#certainty", certainty)
    before = page.evaluate("scrollY")

    drag(page, slider(page), across=0, up=180)

    until(page, "before => scrollY > before", before)
    assert page.input_value("#certainty") == certainty
    spoken = slider(page).get_attribute("aria-valuetext")
    assert spoken == ("30, Moderately Confident" if certainty else "not set")


def test_a_finger_along_the_slider_sets_it(open_page, study):
    page = open_page(viewport=PHONE, has_touch=True, is_mobile=True)
    enter_items(page, study)
    page.check("#choice-a")

    drag(page, slider(page), across=-90, up=0)

    expect(page.locator("#certainty")).to_have_value(re.compile(r"^[3-6]\d$"))


def drag(page, target, *, across, up):
    """Put a finger on the right of `target` and move it."""
    box = target.bounding_box()
    x, y = box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2
    device = page.context.new_cdp_session(page)

    def touch(kind, *points):
        device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    touch("touchStart", {"x": x, "y": y})
    for step in range(1, 11):
        touch("touchMove", {"x": x + across * step / 10, "y": y - up * step / 10})
    touch("touchEnd")


def test_a_tie_hides_the_certainty_and_can_be_taken_back(open_page, live_server):
    study = make_everyday_study(items=1, allow_tie=True)
    page = open_page()
    enter_items(page, study)

    page.keyboard.press("t")
    assert not page.is_visible("#certainty")
    assert page.is_visible(".tie-note")
    page.keyboard.press("a")
    assert page.is_visible("#certainty")
    page.keyboard.press("t")
    page.click("#submit")

    page.wait_for_url("**/feedback/")
    assert (Annotation.objects.get().choice, Annotation.objects.get().certainty) == ("tie", None)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("control", ["number", "levels"])
def test_the_other_ways_to_give_a_certainty_keep_the_rules(open_page, live_server, control):
    study = make_everyday_study(items=1, certainty_control=control)
    page = open_page(viewport=SMALL_PHONE)
    enter_items(page, study)
    page.check("#choice-a")
    if control == "levels":
        page.check("#level-confident")
        expect(page.locator("[data-hint]")).to_have_text("61 to 80")
    page.fill("#certainty", "72")
    assert page.get_by_role("slider").count() == 0
    assert page.locator("[data-band] b").inner_text() == "Confident"
    fits_and_reads_well(page)

    page.click("#submit")

    page.wait_for_url("**/feedback/")
    assert Annotation.objects.get().certainty_control == control


def test_a_hand_at_the_slider_and_one_at_the_keys_are_told_apart(page):
    page.check("#choice-a")
    slider(page).focus()
    page.keyboard.press("End")
    page.click("#submit")
    page.wait_for_url("**/task/2/")
    page.check("#choice-a")
    page.fill("#certainty", "72")
    page.click("#submit")
    page.wait_for_url("**/task/3/")

    kinds = Annotation.objects.order_by("pk").values_list("certainty_control", flat=True)
    assert list(kinds) == ["slider", "number"]
