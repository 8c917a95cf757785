"""A person who answers for themselves in a browser, up to the removal of their profile."""

import os

import pytest
from playwright.sync_api import expect

from annotation.models import DemographicQuestion, OwnProfile
from studies.models import Study
from tests.browser.annotators import enter, make_everyday_study
from tests.browser.conftest import DESKTOP, PHONE, is_well_in_both_themes

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def own_study(live_server) -> Study:
    study = make_everyday_study(
        items=2, perspective="own", show_history=1, persona_style="sentences"
    )
    for position, (key, label, options, sentence) in enumerate(
        [
            (
                "age",
                "How old are you?",
                ["18–29", "30 or older"],
                "The person is {answer} years old.",
            ),
            ("work", "Where do you work?", ["At home", "In an office"], ""),
        ]
    ):
        DemographicQuestion.objects.create(
            study=study,
            key=key,
            label=label,
            options=[{"value": str(n), "label": each} for n, each in enumerate(options)],
            sentence=sentence,
            position=position,
        )
    return study


def look(page, name):
    is_well_in_both_themes(page)
    if folder := os.environ.get("PICTURES"):
        for size, wide in ((DESKTOP, "wide"), (PHONE, "phone")):
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                page.set_viewport_size(size)
                page.screenshot(path=f"{folder}/{name}-{wide}-{theme}.png", full_page=True)
        page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("javascript", [True, False], ids=["script", "no script"])
def test_the_whole_way(open_page, own_study, javascript):
    page = open_page(viewport=PHONE, javascript=javascript)
    enter(page, own_study)
    if javascript:
        look(page, "consent")
    page.click("#consent-yes")
    page.check("#attr_age-0")
    page.check("#attr_work-1")
    page.click("#submit")
    page.click("#submit")
    for number in (1, 2):
        expect(page.locator("h1")).to_contain_text("Which response do you prefer?")
        expect(page.locator("#person")).to_have_count(0)
        if number == 1 and javascript:
            look(page, "item")
        page.check("#choice-a")
        page.fill("#certainty", "60")
        page.click("#submit")
        page.wait_for_url(f"**/task/{number + 1}/" if number == 1 else "**/profile/")

    expect(page.locator("#shown")).to_contain_text("The person is 18–29 years old.")
    assert not page.is_checked("#show")
    page.fill("#text", "I ride a bicycle.")
    page.check("#show")
    page.click("#submit")
    expect(page.locator("#shown")).to_contain_text("I ride a bicycle.")
    assert OwnProfile.objects.count() == 0
    if javascript:
        look(page, "profile")
    page.click("#submit")
    page.wait_for_url("**/feedback/")
    page.click("#submit")
    page.click("text=See your profile, or remove it")
    if javascript:
        look(page, "decided")
    page.click("#submit")
    expect(page.locator("main")).to_contain_text("Nobody sees a profile of you.")
    assert not OwnProfile.objects.get().is_shown
