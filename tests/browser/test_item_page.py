"""The item page in Chromium: slider, keyboard, drafts, the answer bar, and no script at all."""

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Annotation, AnnotationRevision
from tests.browser.annotators import enter, enter_items, make_everyday_study
from tests.browser.conftest import DESKTOP, PHONE, SMALL_PHONE, scrolls_sideways
from tests.factories import make_item

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SIZES = pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["390", "1280"])


def test_an_item_takes_five_keys(page, study):
    for key in ["b", "c", "7", "2", "Enter"]:
        page.keyboard.press(key)

    page.wait_for_url("**/task/2/")
    annotation = Annotation.objects.get()
    assert annotation.certainty == 72
    assert annotation.choice == annotation.assignment.shown_second


def test_shortcuts_never_fire_in_the_number_box(page):
    page.focus("#certainty")

    for key in ["a", "b", "t", "1", "2"]:
        page.keyboard.press(key)

    assert page.locator("input:checked[name=choice]").count() == 0
    assert page.input_value("#certainty") == "abt12"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("how", ["key", "mouse", "slider"])
def test_a_number_typed_after_the_choice_is_a_certainty_and_no_other_choice(page, how):
    if how == "key":
        page.keyboard.press("a")
    else:
        page.click("label[for=choice-a]")
    if how == "slider":
        page.get_by_role("slider").focus()

    page.keyboard.type("25", delay=30)

    assert page.input_value("#certainty") == "25"
    assert page.is_checked("#choice-a")
    assert page.locator("input:checked[name=choice]").count() == 1


def test_a_number_before_the_choice_still_chooses(page):
    page.keyboard.press("2")

    assert page.is_checked("#choice-b")
    assert page.input_value("#certainty") == ""


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("size", [SMALL_PHONE, PHONE], ids=["320", "390"])
def test_a_sheet_opens_at_its_beginning(open_page, study, size):
    page = open_page(viewport=size)
    enter_items(page, study)
    page.set_viewport_size({"width": size["width"], "height": 420})

    page.click("[data-opens=profile]")

    sheet = page.locator("#profile-dialog")
    assert sheet.evaluate("sheet => sheet.scrollHeight > sheet.clientHeight")
    assert sheet.evaluate("sheet => sheet.scrollTop") == 0
    assert page.evaluate("document.activeElement.id") == "profile-dialog-title"


def test_shortcuts_can_be_switched_off_and_stay_off(page):
    page.keyboard.press("?")
    page.get_by_label("Use keyboard shortcuts").uncheck()
    page.get_by_role("button", name="Close").click()

    page.reload()
    page.keyboard.press("a")

    assert page.locator("input:checked[name=choice]").count() == 0


def test_the_item_can_be_answered_with_tab_space_and_enter_alone(open_page, study):
    page = open_page()
    enter_items(page, study)
    seen = []
    for _ in range(20):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.innerText"))
        if seen[-1] == "choice-a":
            page.keyboard.press("Space")
        elif seen[-1] == "certainty":
            page.keyboard.type("64")
        elif seen[-1] == "submit":
            page.keyboard.press("Enter")
            break

    page.wait_for_url("**/task/2/")
    assert seen[0] == "Skip to main content"
    assert seen.index("choice-a") < seen.index("certainty") < seen.index("submit")
    assert Annotation.objects.get().certainty == 64


@pytest.mark.sampled(keep=1)
@SIZES
def test_an_untouched_item_leads_to_what_is_missing(open_page, study, size):
    page = open_page(viewport=size)
    enter_items(page, study)
    page.click("#submit")

    expect(page.locator(".error-summary")).to_be_focused()
    assert page.title().startswith("Error: ")
    links = page.locator(".error-summary a")
    assert links.all_inner_texts() == [
        "Select the response this person would prefer",
        "Enter a certainty from 1 to 100",
    ]
    links.nth(1).click()
    expect(page.locator("#certainty")).to_be_focused()
    links.nth(0).click()
    expect(page.locator("#choice-a")).to_be_focused()


def test_a_reload_restores_what_was_not_yet_sent(page):
    page.check("#choice-b")
    page.fill("#certainty", "41")

    page.reload()

    expect(page.locator("#certainty")).to_have_value("41")
    assert page.is_checked("#choice-b")
    assert page.get_by_role("slider").get_attribute("aria-valuetext") == "41, Quite Confident"
    assert not Annotation.objects.exists()


def test_a_draft_of_one_item_never_shows_at_another(page):
    page.check("#choice-b")
    page.fill("#certainty", "41")
    page.click("#submit")

    page.wait_for_url("**/task/2/")

    assert page.input_value("#certainty") == ""
    assert page.locator("input:checked[name=choice]").count() == 0
    drafts = page.evaluate("Object.keys(localStorage).filter(k => k.includes(':draft:'))")
    assert drafts == []


@pytest.mark.nightly
def test_the_back_button_of_the_browser_shows_the_earlier_answer(page):
    page.check("#choice-b")
    page.fill("#certainty", "41")
    page.click("#submit")
    page.wait_for_url("**/task/2/")

    page.go_back()

    expect(page.locator("#certainty")).to_have_value("41")
    assert "1 of 3" in page.inner_text(".progress")
    assert page.is_checked("#choice-b")
    page.fill("#certainty", "42")
    page.click("#submit")
    page.wait_for_url("**/task/2/")
    assert list(AnnotationRevision.objects.values_list("certainty", flat=True)) == [41, 42]


def test_a_double_click_stores_one_answer(page):
    page.check("#choice-a")
    page.fill("#certainty", "50")

    page.dblclick("#submit")

    page.wait_for_url("**/task/2/")
    assert "2 of 3" in page.inner_text(".progress")
    assert Annotation.objects.count() == AnnotationRevision.objects.count() == 1


ON_THIS_DEVICE = "Your answer is kept on this device."


def test_an_answer_given_without_a_network_is_sent_once_it_is_back(page):
    page.check("#choice-a")
    page.fill("#certainty", "50")
    page.context.set_offline(True)

    page.click("#submit")

    expect(page.locator("[data-offline]")).to_have_text(
        f"{ON_THIS_DEVICE} We will send it when you are back online."
    )
    assert not Annotation.objects.exists()
    page.context.set_offline(False)
    page.wait_for_url("**/task/2/")
    assert Annotation.objects.get().certainty == 50


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("fault", ["no answer", 503, 500])
def test_an_answer_that_meets_no_server_is_sent_again_by_itself(page, study, fault):
    def fail(route):
        route.abort() if fault == "no answer" else route.fulfill(status=fault)

    page.check("#choice-a")
    page.fill("#certainty", "50")
    page.context.route("**/task/1/", fail)

    page.click("#submit")

    expect(page.locator("[data-offline]")).to_have_text(
        f"{ON_THIS_DEVICE} We cannot reach the server and keep trying."
    )
    assert not Annotation.objects.exists()
    page.context.unroute("**/task/1/")
    page.wait_for_url("**/task/2/")
    assert Annotation.objects.get().certainty == 50
    assert AnnotationRevision.objects.count() == 1


def test_an_answer_whose_receipt_was_lost_is_stored_once(page):
    def lose_the_receipt(route):
        route.fetch(max_redirects=0)
        route.abort()

    page.check("#choice-a")
    page.fill("#certainty", "50")
    page.context.route("**/task/1/", lose_the_receipt, times=1)

    page.click("#submit")

    page.wait_for_url("**/task/2/")
    assert Annotation.objects.count() == AnnotationRevision.objects.count() == 1


def test_a_waiting_answer_that_is_changed_goes_out_as_changed(page):
    page.check("#choice-a")
    page.fill("#certainty", "50")
    page.context.set_offline(True)
    page.click("#submit")
    expect(page.locator("[data-offline]")).to_contain_text(ON_THIS_DEVICE)

    page.fill("#certainty", "60")
    page.keyboard.press("Tab")
    page.context.set_offline(False)
    page.click("#submit")

    page.wait_for_url("**/task/2/")
    assert list(AnnotationRevision.objects.values_list("certainty", flat=True)) == [60]


def test_active_time_leaves_out_a_minute_without_a_sign_of_life(open_page, study):
    page = open_page()
    page.clock.install()
    enter_items(page, study)
    page.keyboard.press("a")
    page.clock.run_for(10_000)
    page.mouse.move(5, 5)
    page.clock.run_for(300_000)
    page.fill("#certainty", "50")
    sent = []
    page.on("request", lambda r: sent.append(r.post_data) if r.method == "POST" else None)

    page.click("#submit")

    page.wait_for_url("**/task/2/")
    active = int(re.search(r'name="active_ms"\s+(\d+)|active_ms=(\d+)', sent[0]).group(2))
    assert 70_000 <= active < 100_000


def test_the_bar_covers_at_most_two_fifths_of_a_small_phone(open_page, study):
    page = open_page(viewport=SMALL_PHONE)
    enter_items(page, study)
    for act in (
        lambda: None,
        lambda: page.check("#choice-a"),
        lambda: page.fill("#certainty", "72"),
        lambda: page.fill("#certainty", "31"),
    ):
        act()
        covered = page.evaluate(
            """() => Math.max(...[...document.querySelectorAll('.answer-bar, .quick')]
               .filter(e => getComputedStyle(e).position === 'sticky' && e.offsetHeight)
               .map(e => innerHeight - e.getBoundingClientRect().top))"""
        )
        assert covered <= 0.4 * 568, covered


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("size", [SMALL_PHONE, PHONE, DESKTOP], ids=["320", "390", "1280"])
def test_focus_is_never_under_the_bar(open_page, study, size):
    page = open_page(viewport=size)
    enter_items(page, study)
    page.check("#choice-a")
    page.evaluate("scrollTo(0, 0); document.activeElement.blur()")
    for _ in range(14):
        page.keyboard.press("Tab")
        hidden = page.evaluate(
            """() => {
                const focused = document.activeElement;
                const bar = document.querySelector('[data-answer-bar]');
                if (focused === document.body || bar.contains(focused)) return false;
                const box = focused.getBoundingClientRect();
                return [bar, bar.querySelector('[data-quick]')]
                    .filter(e => getComputedStyle(e).position === 'sticky' && e.offsetHeight)
                    .map(e => e.getBoundingClientRect())
                    .some(over => box.bottom > over.top + 1 && box.top < over.bottom - 1);
            }"""
        )
        assert not hidden, page.evaluate("document.activeElement.outerHTML")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_scrolls_sideways_also_with_long_words(open_page, live_server, width):
    study = make_everyday_study(items=1, title="A" * 90)
    item = study.all_items.get()
    item.r1 = {"text": "https://example.org/" + "x" * 400}
    item.question = "W" * 300
    item.save()
    page = open_page(viewport={"width": width, "height": 700})
    enter_items(page, study)

    assert not scrolls_sideways(page)
    page.click("#submit")
    page.wait_for_selector(".error-summary")
    assert not scrolls_sideways(page)


def test_at_four_hundred_percent_everything_is_there_and_nothing_scrolls_sideways(open_page, study):
    page = open_page(viewport={"width": 320, "height": 256})
    enter_items(page, study)

    assert not scrolls_sideways(page)
    assert page.evaluate("getComputedStyle(document.querySelector('.answer-bar')).position") in (
        "static",
        "relative",
    )
    page.check("#choice-a")
    page.fill("#certainty", "20")
    page.click("#submit")
    page.wait_for_url("**/task/2/")


@pytest.mark.sampled(keep=1)
@SIZES
def test_targets_are_large_enough_for_a_thumb(open_page, live_server, size):
    study = make_everyday_study(items=1, allow_tie=True)
    page = open_page(viewport=size)
    enter_items(page, study)

    small = page.evaluate(
        """() => [...document.querySelectorAll(
            '.masthead a, .card, .chip, #certainty, input[type=range], #submit, summary')]
            .filter(e => e.offsetParent)
            .map(e => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
            .filter(([, box]) => box.width < 43.9 || box.height < 43.9)
            .map(([html]) => html)"""
    )
    assert small == []


def test_both_responses_look_the_same_but_for_their_text(page):
    looks = page.evaluate(
        """() => [...document.querySelectorAll('.cards .card')].map(card => {
            const style = getComputedStyle(card);
            const text = getComputedStyle(card.querySelector('.card-text'));
            return [style.width, style.borderColor, style.backgroundColor, text.fontSize,
                    text.fontWeight, text.color, card.offsetTop].join();
        })"""
    )

    assert looks[0] == looks[1]


def test_the_person_can_be_seen_again_without_scrolling_up(open_page, study):
    page = open_page(viewport=PHONE)
    enter_items(page, study)

    page.click("[data-opens=profile]")

    assert "Repairs old bicycles" in page.inner_text("#profile-dialog")
    page.keyboard.press("Escape")
    assert not page.is_visible("#profile-dialog")


@pytest.mark.sampled(keep=1)
@SIZES
def test_an_item_can_be_answered_without_javascript(open_page, study, size):
    page = open_page(viewport=size, javascript=False)
    enter_items(page, study)
    assert page.locator("input[type=range]").count() == 0

    page.check("#choice-a")
    page.fill("#certainty", "72 %")
    page.click("#submit")

    page.wait_for_url("**/task/2/")
    assert Annotation.objects.get().certainty == 72


def test_the_page_asks_this_host_alone(open_page, study):
    page = open_page()
    hosts = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    enter(page, study)
    page.click("#consent-yes")
    page.click("#submit")
    page.wait_for_url("**/task/1/")
    page.wait_for_load_state("networkidle")

    assert len(hosts) == 1


def test_hostile_text_stays_text(open_page, live_server):
    study = make_everyday_study(items=0, items_per_annotator=1)
    hostile = '"><img src=x onerror="document.title=1"><script>document.title=2</script>'
    make_item(study=study, question=hostile, r1={"text": hostile}, r2={"text": "Other"})
    page = open_page()
    enter_items(page, study)

    assert page.title().startswith("Item 1 of 1")
    assert hostile in page.inner_text(".cards")
    page.check("#choice-a")
    assert page.locator("main img").count() == 0
