"""Whole ways in Chromium, from a simulated panel and back to it, and the researchers' pages."""

import re
from urllib.parse import parse_qsl

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from annotation.content.comprehension import set_questions, standard_questions
from annotation.models import Annotator, DemographicQuestion, QuotaGroup
from extras.panels.models import Panel
from extras.panels.presets import presets
from extras.panels.simulated_panel import SimulatedPanel
from studies.models import Membership, Study
from tests.browser.annotators import make_everyday_study
from tests.browser.conftest import PHONE, is_well_in_both_themes
from tests.extras.in_browser import browser, open_page, signed_in
from tests.extras.panels.builders import make_panel
from tests.factories import make_annotator

__all__ = ["browser", "open_page", "signed_in"]

pytestmark = [
    pytest.mark.sampled(keep=1, group="panels in browser"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
SCRIPTS = pytest.mark.parametrize("javascript", [True, False], ids=["script", "no script"])
PRESETS = sorted(presets())
# Chromium otherwise keeps frames of this machine out of pages of other sites.
FRAME_WIDTH = 360
FRAMED = {"permissions": ["local-network-access"]}


@pytest.fixture
def everyday(live_server, settings) -> Study:
    settings.PUBLIC_BASE_URL = live_server.url
    return make_everyday_study(items=1, entry="list")


def panel_at(page: Page, panel: Panel) -> SimulatedPanel:
    """The simulated panel behind every other host that this browser opens."""
    simulated = SimulatedPanel(panel)

    def answers(route: Route) -> None:
        request = route.request
        fields = dict(parse_qsl(request.post_data or ""))
        received = simulated.receive(request.url, fields)
        words = f"Simulated panel: {received.fault or received.ending or 'back'} {received.person}"
        route.fulfill(body=f"<h1>{words}</h1>", content_type="text/html")

    page.context.route(re.compile("^https://"), answers)
    return simulated


def agree(page: Page) -> None:
    page.click("#consent-yes")


def answer(page: Page) -> None:
    page.click("#submit")  # the instructions
    page.check("#choice-a")
    page.fill("#certainty", "60")
    page.click("#submit")
    page.wait_for_url("**/feedback/")
    page.click("#submit")


@pytest.mark.sampled(keep=2)
@SCRIPTS
@pytest.mark.parametrize("preset", PRESETS)
def test_the_whole_way_and_back_to_the_panel(open_page, everyday, preset, javascript):
    page = open_page(viewport=PHONE, javascript=javascript)
    simulated = panel_at(page, make_panel(everyday, preset))
    page.goto(simulated.link)
    agree(page)
    answer(page)
    expect(page.locator("h1")).to_have_text("You have finished. Thank you.")
    if javascript:
        is_well_in_both_themes(page)

    page.click("#return")

    heading = page.locator("h1")
    expect(heading).to_contain_text("Simulated panel:")
    words = heading.inner_text()
    assert "not a host" not in words
    if preset != "connect":
        assert any(value in words for value in simulated.sent.values())
    if preset not in ("generic", "qualtrics"):
        assert "complete" in words


@pytest.mark.sampled(keep=1)
@SCRIPTS
@pytest.mark.parametrize("ending", ["screened_out", "over_quota", "withdrew", "declined"])
@pytest.mark.parametrize("preset", PRESETS)
def test_the_way_to_every_other_ending(open_page, everyday, preset, ending, javascript):
    panel = make_panel(everyday, preset)
    if ending == "over_quota":
        DemographicQuestion.objects.create(
            study=everyday, key="age", label="Age?", options=[{"value": "a", "label": "A"}]
        )
        QuotaGroup.objects.create(study=everyday, is_everyone_else=True, target=0)
    if ending == "screened_out":
        set_questions(study_id=everyday.pk, questions=standard_questions(everyday)[:1])
    page = open_page(viewport=PHONE, javascript=javascript)
    simulated = panel_at(page, panel)
    page.goto(simulated.link)
    if ending == "declined":
        page.click("#consent-no")
    else:
        agree(page)
    if ending == "over_quota":
        page.check("#attr_age-0")
        page.click("#submit")
    if ending == "screened_out":
        page.click("#submit")
        right = everyday.comprehension_questions.get().right
        for _ in range(2):
            page.check(f"#answer-{1 if right == 0 else 0}")
            page.click("#submit")
    if ending == "withdrew":
        page.goto(f"/s/{everyday.slug}/withdraw/")
        page.click("#submit")

    kind = "withdrew" if ending == "declined" else ending
    if not getattr(panel, kind):
        expect(page.locator("main")).to_contain_text(f"give your place back on {panel.title}")
        return
    page.click("#return")
    expect(page.locator("h1")).to_contain_text("Simulated panel:")
    words = page.locator("h1").inner_text()
    assert simulated.sent[panel.person_parameter] in words
    assert "complete" not in words


@SCRIPTS
def test_in_mturks_frame_the_study_opens_in_a_tab_and_is_submitted_in_the_frame(
    open_page, everyday, javascript
):
    page = open_page(viewport=PHONE, javascript=javascript, **FRAMED)
    simulated = panel_at(page, make_panel(everyday, "mturk"))
    frame = (
        f'<iframe src="{simulated.link.replace("&", "&amp;")}" width="{FRAME_WIDTH}" height="600">'
    )
    page.context.route(
        re.compile("^https://worker.mturk.com/"),
        lambda route: route.fulfill(body=frame, content_type="text/html"),
    )
    page.goto("https://worker.mturk.com/projects/task")
    task = page.frame_locator("iframe")
    expect(task.locator("#open")).to_be_visible()
    assert page.frames[1].evaluate("document.documentElement.scrollWidth") <= FRAME_WIDTH
    with page.context.expect_page() as opened:
        task.locator("#open").click()
    tab = opened.value
    agree(tab)
    answer(tab)
    expect(tab.locator("main")).to_contain_text("Go back to the tab of MTurk")
    tab.close()

    task.locator("#again").click()
    task.locator("#return").click()

    expect(task.locator("h1")).to_contain_text("Simulated panel: complete")
    assert Annotator.objects.get().state == "completed"


@pytest.mark.parametrize("preset", ["mturk", "sona"])
def test_no_other_site_shows_the_study_in_a_frame(browser, everyday, preset):
    page = browser.new_context(**FRAMED).new_page()  # not `open_page`: refusals are no faults here
    simulated = panel_at(page, make_panel(everyday, preset))
    page.context.route(
        re.compile("^https://evil.example/"),
        lambda route: route.fulfill(
            body=f'<iframe src="{simulated.link}"></iframe>', content_type="text/html"
        ),
    )

    page.goto("https://evil.example/")

    page.wait_for_load_state()
    assert "Everyday" not in page.frames[1].content()
    page.context.close()
    assert not Annotator.objects.exists()


def test_an_owner_sets_a_panel_up_rehearses_it_and_writes_a_payment_file(signed_in, everyday):
    user = User.objects.create_user("researcher", password="a-long-password")
    Membership.objects.create(user=user, study=everyday, role=Membership.Role.OWNER)
    page = signed_in()
    page.goto(f"/studies/{everyday.slug}/people/panels/")
    is_well_in_both_themes(page)
    page.get_by_role("link", name="Connect", exact=True).click()
    is_well_in_both_themes(page)

    page.fill("#id_complete", "https://evil.example/")
    page.get_by_role("button", name="Save panel").click()
    expect(page.locator(".error-summary")).to_contain_text("evil.example is not a host of Connect")
    page.fill("#id_complete", "https://connect.cloudresearch.com/participant/project/57/complete")
    page.fill("#id_pay_each", "2.50")
    page.get_by_role("button", name="Save panel").click()

    expect(page.locator("#panel-link")).to_have_value(
        f"{page.url.split('/studies/')[0]}/s/{everyday.slug}/from/connect/"
    )
    expect(page.get_by_role("region", name="Rehearsal of each ending")).to_contain_text(
        "✔ Complete"
    )
    panel = Panel.objects.get()
    panel.people.create(
        annotator=make_annotator(study=everyday, state="completed"), person="A" * 32
    )
    page.reload()
    page.click("#write-file")
    expect(page.locator(".messages")).to_contain_text("Payment file written with 1 person")
    is_well_in_both_themes(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    assert download.value.suggested_filename.endswith(".csv")


@pytest.mark.parametrize("first", ["help", "preview"])
def test_the_pages_before_the_study_fit_a_phone_and_read_well(open_page, everyday, first):
    page = open_page(viewport=PHONE)
    link = panel_at(page, make_panel(everyday, "mturk")).link.partition("?")[0]
    if first == "preview":
        link += "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE"

    page.goto(link)

    is_well_in_both_themes(page)
    expect(page.locator("main")).to_contain_text("MTurk")
