"""Disagreements and the page of an item in a real browser: axe, keys, the brush, no scripts."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from judging.models import Judgment
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.browser.conftest import PHONE, is_well_in_both_themes, until
from tests.factories import make_item, make_study

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LIST = "/studies/one/disagreements/"


@pytest.fixture
def study():
    User.objects.create_superuser("ada", password="a good long secret")
    study = make_study(slug="one", title="Everyday choices", is_simulated=True)
    run, other = make_run(study=study), make_run(study=study, judge="other", features="age")
    rater = make_rater(study=study)
    for n in range(4):
        item = make_item(study=study, key=f"i{n}", first_person="r1", topic=f"topic {n % 2}")
        answer(rater, item, "r1", 10 + 25 * n)
        for one in (run, other):
            judge_item(one, item, "r2", 95 - 20 * n)
    Judgment.objects.update(raw_text="Because. " * 60)
    return study


@pytest.mark.nightly
def test_both_pages_fit_and_pass_axe(signed_in, study):
    page = signed_in(viewport=PHONE)
    for address in (LIST, f"{LIST}?show=all&people_from=81", f"{LIST}?topic=none"):
        page.goto(address)
        for summary in page.locator("summary:visible").all():
            summary.click()
        is_well_in_both_themes(page)

    page.goto(f"{reverse('studies:item', args=['one', 'i1'])}?list=disagreements")
    for summary in page.locator("summary:visible").all():
        summary.click()
    for summary in page.locator("details[open] details:not([open]) > summary:visible").all():
        summary.click()
    is_well_in_both_themes(page)


@pytest.mark.nightly
def test_keys_move_through_the_list_and_the_items_and_can_be_switched_off(signed_in, study):
    page = signed_in()
    page.goto(LIST)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/items/i0/*")

    page.keyboard.press("j")
    page.wait_for_url("**/items/i1/*")
    page.get_by_label("Keys").uncheck()
    page.keyboard.press("j")

    page.goto(LIST)
    expect(page.get_by_label("Keys")).not_to_be_checked()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('[data-row]')") is None


def test_a_part_of_the_plot_is_chosen_by_dragging(signed_in, study):
    page = signed_in()
    page.goto(f"{LIST}?show=all")
    plot = page.locator(".scatter-plot")
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    scale = box["width"] / 464

    def at(people, judge):
        return box["x"] + (46 + 4 * people) * scale, box["y"] + (410 - 4 * judge) * scale

    page.mouse.move(*at(2, 98))
    page.mouse.down()
    page.mouse.move(*at(38, 73))
    page.mouse.up()

    page.wait_for_url("**people_to=40**")
    assert "judge_from=71" in page.url
    page.get_by_role("heading", name="2 items in the chosen range").wait_for()
    assert page.locator("[data-row]").count() == 2
    until(page, "Number(document.querySelector('[data-range]').getAttribute('width')) === 160")


@pytest.mark.nightly
def test_without_scripts_lists_and_table_work_on_a_phone(signed_in, study):
    page = signed_in(javascript=False, viewport=PHONE)
    page.goto(LIST)
    page.get_by_role("link", name="Annotators right, judge wrong").click()
    page.get_by_text("Table: choose a range").click()
    page.get_by_role("link", name="1 (1)").first.click()
    page.get_by_role("heading", name="1 item in the chosen range").wait_for()
    page.locator("[data-row] h3 a").click()
    page.get_by_role("heading", name="Judges", exact=True).wait_for()
    assert "list=disagreements" in page.url
