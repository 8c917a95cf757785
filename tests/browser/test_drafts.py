"""Drafts and waiting answers in Chromium: reloads, crashes, two tabs, two devices, no network."""

import pytest
from playwright.sync_api import expect

from annotation import services
from annotation.models import Annotation, AnnotationRevision, Annotator, Draft
from tests.browser.annotators import enter
from tests.browser.conftest import PHONE, until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ON_THIS_DEVICE = "Your answer is kept on this device."


def saves_draft(page):
    return page.expect_response(lambda answer: answer.url.endswith("/draft/") and answer.ok)


def fill(page, choice, certainty):
    page.check(f"#choice-{choice}")
    page.fill("#certainty", certainty)


def test_a_second_device_shows_the_draft_of_the_first(open_page, page, study):
    with saves_draft(page):
        fill(page, "b", "41")

    second = open_page(viewport=PHONE, javascript=False)
    enter(second, study)

    assert second.is_checked("#choice-b")
    assert second.input_value("#certainty") == "41"
    assert not Annotation.objects.exists()


def test_typing_sends_one_request_when_the_hand_rests(page):
    sent = []
    page.on("request", lambda r: sent.append(r.url) if r.url.endswith("/draft/") else None)

    with saves_draft(page):
        page.check("#choice-a")
        page.focus("#certainty")
        page.keyboard.type("1234567", delay=20)

    assert len(sent) == 1
    assert Draft.objects.get().certainty == "1234567"


def test_two_tabs_at_one_item_lose_nothing_of_each_other(page):
    second = page.context.new_page()
    second.goto(page.url)
    with saves_draft(page):
        page.check("#choice-a")
    expect(second.locator("#choice-a")).to_be_checked()

    with saves_draft(second):
        second.fill("#certainty", "41")

    expect(page.locator("#certainty")).to_have_value("41")
    draft = Draft.objects.get()
    shown = draft.assignment.as_displayed(draft.choice)
    assert (shown, draft.certainty) == ("a", "41")


def test_two_devices_at_one_item_lose_nothing_of_each_other(open_page, page, study):
    phone = open_page(viewport=PHONE)
    enter(phone, study)
    with saves_draft(page):
        page.check("#choice-a")

    with saves_draft(phone):
        phone.fill("#certainty", "41")

    assert phone.is_checked("#choice-a")
    draft = Draft.objects.get()
    assert (draft.assignment.as_displayed(draft.choice), draft.certainty) == ("a", "41")


def test_a_crash_before_the_hand_rested_loses_nothing(page, study):
    page.context.route("**/draft/", lambda route: route.abort())
    fill(page, "b", "41")
    page.close()
    again = page.context.new_page()
    page.context.unroute("**/draft/")

    with saves_draft(again):
        again.goto(f"/s/{study.slug}/task/")

    assert again.is_checked("#choice-b")
    assert again.input_value("#certainty") == "41"
    assert Draft.objects.get().certainty == "41"


def test_an_answer_that_the_server_refuses_is_there_when_its_page_is_loaded_again(page, study):
    page.evaluate("sessionStorage.setItem('form', '/elsewhere/')")  # a form of an earlier page
    fill(page, "b", "41")
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.click("#submit")
    page.get_by_role("heading", name="Please send that again").wait_for()

    page.context.add_cookies(cookies)
    page.reload()

    expect(page.locator("#choice-b")).to_be_checked()
    assert (page.input_value("#certainty"), Annotation.objects.count()) == ("41", 0)


def hold_an_answer(page, study, certainty="50"):
    """Answer while the server is out of reach, then leave the page."""
    page.context.route("**/task/*/", lambda route: route.abort())
    page.context.route("**/draft/", lambda route: route.abort())
    fill(page, "a", certainty)
    page.click("#submit")
    expect(page.locator("[data-offline]")).to_contain_text(ON_THIS_DEVICE)
    page.context.unroute("**/task/*/")
    page.context.unroute("**/draft/")


def test_a_waiting_answer_is_sent_by_itself_after_a_reload(page, study):
    hold_an_answer(page, study)
    assert not Annotation.objects.exists()

    page.goto(f"/s/{study.slug}/task/")

    page.wait_for_url("**/task/2/")
    assert Annotation.objects.get().certainty == 50
    assert not Draft.objects.exists()


def test_a_change_that_waits_is_sent_by_a_visit_to_another_item(page, study):
    fill(page, "a", "30")
    page.click("#submit")
    page.wait_for_url("**/task/2/")
    page.goto(f"/s/{study.slug}/task/1/")
    hold_an_answer(page, study, "60")

    with page.expect_response("**/task/1/"):
        page.goto(f"/s/{study.slug}/task/2/")

    until(page, "Object.entries(localStorage).every(([key, kept]) => !kept.includes('waiting'))")
    assert list(AnnotationRevision.objects.values_list("certainty", flat=True)) == [30, 60]


def test_a_waiting_answer_reaches_the_study_also_after_the_time_is_over(page, study):
    hold_an_answer(page, study)
    services.time_out(annotator_id=Annotator.objects.get().pk)

    page.goto(f"/s/{study.slug}/done/")

    until(page, "Object.keys(localStorage).length === 0")
    annotation = Annotation.objects.get()
    assert (annotation.certainty, annotation.standing) == (50, "released")
