"""The whole way through a study in Chromium, and the rules that every page keeps."""

import pytest
from django.contrib.auth.models import User

from annotation import services
from annotation.models import Annotation, Annotator, CompletionCode, Invitation
from annotation.services.admission import set_related_studies
from studies.models import Membership
from tests.browser.annotators import add_checks, add_quota, enter, enter_items, make_everyday_study
from tests.browser.conftest import (
    DESKTOP,
    PHONE,
    SMALL_PHONE,
    fits_and_reads_well,
    scrolls_sideways,
    until,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TABLET = {"width": 768, "height": 1024}
# 1280 x 1024 at 400 %.
ZOOMED = {"width": 320, "height": 256}
SIZES = [SMALL_PHONE, PHONE, TABLET, DESKTOP, ZOOMED]


def fits_every_size(page):
    for size in SIZES:
        page.set_viewport_size(size)
        assert not scrolls_sideways(page), (page.url, size)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("javascript", [True, False], ids=["javascript", "no javascript"])
def test_a_person_walks_through_the_whole_study(open_page, live_server, javascript):
    study = make_everyday_study(items=3, allow_tie=True)
    add_quota(study)
    add_checks(study)
    page = open_page(javascript=javascript)

    enter(page, study)
    page.click("#consent-yes")
    page.check("#attr_gender-0")
    page.check("#attr_politics-3")
    page.click("#submit")
    page.wait_for_url("**/instructions/")
    page.click("#submit")
    page.wait_for_url("**/quiz/1/")
    page.check(f"#answer-{study.comprehension_questions.get().right}")
    page.click("#submit")
    page.wait_for_url("**/practice/")
    page.check("#choice-a")
    page.fill("#certainty", "60")
    page.click("#submit")
    page.wait_for_selector("[name=understood]")
    fits_every_size(page)
    page.click("[name=understood]")
    for position, (choice, certainty) in enumerate([("a", "90"), ("tie", ""), ("b", "15")], 1):
        page.wait_for_url(f"**/task/{position}/")
        page.check(f"#choice-{choice}")
        if certainty:
            page.fill("#certainty", certainty)
        fits_every_size(page)
        page.click("#submit")
    page.fill("#comments", "Pleasant.")
    page.click("#submit")
    page.wait_for_url("**/done/")

    code = CompletionCode.objects.get(study=study, ending="completed").code
    assert page.inner_text("[data-code]") == code
    assert page.get_attribute("#return", "href").endswith(f"/submissions/complete?cc={code}")
    assert list(Annotation.objects.values_list("certainty", flat=True)) == [90, None, 15]
    annotator = Annotator.objects.get()
    assert (annotator.state, annotator.feedback) == ("completed", "Pleasant.")
    assert annotator.demographics == {"gender": "woman", "politics": "prefer_not_to_say"}


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("entry", ["link", "list"])
@pytest.mark.parametrize("javascript", [True, False], ids=["javascript", "no javascript"])
def test_the_whole_way_without_a_platform_ends_on_a_page(open_page, live_server, entry, javascript):
    study = make_everyday_study(items=2, entry=entry)
    Invitation.objects.create(study=study, key="student-7")
    link = f"/s/{study.slug}/" + ("?PROLIFIC_PID=student-7" if entry == "list" else "")
    page = open_page(viewport=PHONE, javascript=javascript)
    page.goto(link)
    if entry == "link":
        page.click("#submit")
    page.click("#consent-yes")
    page.wait_for_url("**/instructions/")
    page.click("#submit")
    page.wait_for_url("**/task/1/")
    page.check("#choice-a")
    page.fill("#certainty", "90")
    page.click("#submit")
    page.wait_for_url("**/task/2/")

    # A code is enough on another device; an id of a list is known to others and needs the browser.
    other = open_page(javascript=javascript) if entry == "link" else page.context.new_page()
    other.goto(link)
    if entry == "link":
        other.fill("#code", Annotator.objects.get().resume_code)
        other.click("text=Continue where I stopped")
    assert "2 of 2" in other.inner_text(".progress")
    other.check("#choice-b")
    other.fill("#certainty", "15")
    other.click("#submit")
    other.wait_for_url("**/feedback/")
    other.click("#submit")
    other.wait_for_url("**/done/")

    for device in (page, other):
        device.goto(link)
        assert "Your 2 answers are saved." in device.inner_text("main")
        assert device.locator("#return").count() == 0
        assert device.locator("[data-copy]").is_visible() == javascript
    assert Annotator.objects.get().state == "completed"


def test_two_tabs_share_one_place_and_lose_nothing(open_page, live_server):
    study = make_everyday_study(items=2)
    first = open_page()
    enter_items(first, study)
    second = first.context.new_page()
    enter(second, study)
    second.wait_for_url("**/task/1/")

    for tab, certainty in ((first, "10"), (second, "20")):
        tab.check("#choice-a")
        tab.fill("#certainty", certainty)
        tab.click("#submit")
        tab.wait_for_url("**/task/2/")

    annotation = Annotation.objects.get()
    assert (annotation.certainty, annotation.revision) == (20, 2)
    assert Annotator.objects.count() == 1


def test_a_second_device_goes_on_where_the_first_stopped(open_page, live_server):
    study = make_everyday_study(items=2)
    first = open_page()
    enter_items(first, study)
    first.check("#choice-a")
    first.fill("#certainty", "10")
    first.click("#submit")
    first.wait_for_url("**/task/2/")

    second = open_page(viewport=PHONE)
    enter(second, study)

    second.wait_for_url("**/task/2/")
    assert "2 of 2" in second.inner_text(".progress")


def test_the_code_can_be_copied_and_drafts_are_gone_after_the_end(open_page, live_server):
    study = make_everyday_study(items=1)
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    enter_items(page, study)
    page.check("#choice-a")
    page.fill("#certainty", "10")
    page.click("#submit")
    page.wait_for_url("**/feedback/")
    page.click("#submit")
    page.wait_for_url("**/done/")

    page.click("[data-copy]")

    until(page, "() => document.querySelector('[data-copied]').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("[data-code]")
    assert page.evaluate("Object.keys(localStorage).filter(k => k.includes(':draft:'))") == []


def finish(page, study):
    """Answer the only item, and wait for the last page; the platform answers with a page."""
    page.route("https://app.prolific.com/**", lambda route: route.fulfill(body="Thank you"))
    enter_items(page, study)
    page.check("#choice-a")
    page.fill("#certainty", "10")
    page.click("#submit")
    page.wait_for_url("**/feedback/")
    page.click("#submit")
    page.wait_for_url("**/done/")


@pytest.mark.nightly
def test_the_last_page_returns_to_prolific_by_itself_once(open_page, live_server):
    study = make_everyday_study(items=1)
    page = open_page()
    finish(page, study)

    until(page, "() => document.querySelector('[data-home]').innerText.includes('in 4 seconds')")
    page.wait_for_url("https://app.prolific.com/submissions/complete?cc=*", timeout=10_000)
    page.go_back()

    page.wait_for_url("**/done/")
    assert page.is_hidden("[data-home]")
    assert page.is_visible("#return")


@pytest.mark.nightly
def test_who_uses_the_last_page_stays_on_it(open_page, live_server):
    study = make_everyday_study(items=1)
    page = open_page()
    finish(page, study)
    page.wait_for_selector("#stay")

    page.focus("#stay")
    page.keyboard.press("Enter")

    page.wait_for_timeout(5_500)
    assert page.url.endswith("/done/")
    assert page.is_hidden("[data-home]")


def test_the_preview_keeps_nothing_on_the_device_either(signed_in):
    study = make_everyday_study(items=2)
    researcher = User.objects.create_user("researcher")
    Membership.objects.create(user=researcher, study=study)
    page = signed_in()
    page.goto(f"/s/{study.slug}/")
    page.check("#choice-a")
    page.fill("#certainty", "50")

    page.click("#submit")

    page.wait_for_url("**/preview/task/?item=2")
    assert page.input_value("#certainty") == ""
    assert page.evaluate("Object.keys(localStorage).length") == 0


def test_no_page_breaks_a_rule_of_accessibility_or_scrolls_sideways(open_page, live_server):
    study = make_everyday_study(items=2, allow_tie=True)
    add_quota(study)
    page = open_page(viewport=SMALL_PHONE)

    def check():
        page.wait_for_load_state()
        fits_and_reads_well(page)

    page.goto(f"/s/{study.slug}/")
    check()
    enter(page, study)
    check()
    page.click("#consent-yes")
    page.wait_for_url("**/about/")
    check()
    page.click("#submit")
    page.wait_for_selector(".error-summary")
    check()
    page.check("#attr_gender-0")
    page.check("#attr_politics-0")
    page.click("#submit")
    page.wait_for_url("**/instructions/")
    check()
    page.click("#submit")
    page.wait_for_url("**/task/1/")
    check()
    page.click("#submit")
    page.wait_for_selector(".error-summary")
    check()
    page.check("#choice-b")
    page.fill("#certainty", "80")
    check()
    page.click("[data-opens=help]")
    check()
    page.keyboard.press("Escape")
    for side_page in ("pause", "help", "withdraw", "instructions"):
        page.goto(f"/s/{study.slug}/{side_page}/")
        check()
    page.goto(f"/s/{study.slug}/task/")
    page.check("#choice-b")
    page.fill("#certainty", "80")
    page.click("#submit")
    page.wait_for_url("**/task/2/")
    page.check("#choice-tie")
    check()
    page.click("#submit")
    page.wait_for_url("**/feedback/")
    check()
    page.click("#submit")
    page.wait_for_url("**/done/")
    check()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    "ending",
    [
        "decline",
        "withdraw",
        "mark_returned",
        "time_out",
        "reject",
        "closed",
        "paused",
        "ineligible",
        "nowhere",
    ],
)
def test_no_ending_breaks_a_rule_of_accessibility(open_page, live_server, ending):
    study = make_everyday_study(items=1)
    page = open_page(viewport=PHONE)
    enter(page, study)
    if ending == "nowhere":
        page.goto(f"/s/{study.slug}/nowhere/")
    elif ending == "ineligible":
        services.consent(annotator_id=Annotator.objects.get().pk, version="v1")
        later = make_everyday_study(items=1)
        set_related_studies(study_id=later.pk, related_ids=[study.pk])
        enter(page, later)
    elif ending in ("closed", "paused"):
        study.state = ending
        study.save()
        page = open_page(viewport=PHONE)
        enter(page, study, "somebody-new")
    else:
        getattr(services, ending)(annotator_id=Annotator.objects.get().pk)
        page.goto(f"/s/{study.slug}/done/")

    assert page.locator("h1").count() == 1
    fits_and_reads_well(page)


@pytest.mark.nightly
def test_the_start_page_of_an_open_link_keeps_the_rules_too(open_page, live_server):
    study = make_everyday_study(items=1, entry="link", is_simulated=True)
    page = open_page(viewport=PHONE)

    page.goto(f"/s/{study.slug}/")
    fits_and_reads_well(page)
    page.fill("#code", "WRONG")
    page.click("text=Continue where I stopped")
    page.wait_for_selector(".error-summary")
    fits_and_reads_well(page)
    page.click("#submit")
    page.wait_for_url("**/consent/")
    fits_and_reads_well(page)
