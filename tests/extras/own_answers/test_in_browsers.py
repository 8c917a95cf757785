"""A person who answers for themselves in a browser, up to the removal of their profile."""

import os

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import DemographicQuestion
from extras.own_answers.linked_studies import LinkRule, link_study
from extras.own_answers.models import OwnProfile, RetestAnswer, RetestVisit
from studies.models import Membership, Study
from tests.browser.annotators import enter, make_everyday_study
from tests.browser.conftest import DESKTOP, PHONE, is_well_in_both_themes
from tests.extras.own_answers.people import bring_back, make_own_study, make_person

pytestmark = [
    pytest.mark.sampled(keep=1, group="own answers in in browsers"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


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


@pytest.mark.sampled(keep=1)
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


@pytest.mark.nightly
def test_the_second_visit(open_page, own_study):
    bring_back(own_study, 100)
    DemographicQuestion.objects.all().delete()
    page = open_page(viewport=PHONE, javascript=False)
    enter(page, own_study)
    page.click("#consent-yes")
    page.click("#submit")
    for _ in range(2):
        page.check("#choice-a")
        page.fill("#certainty", "60")
        page.click("#submit")
    page.click("#submit")
    page.click("#submit")
    expect(page.locator("h2").first).to_contain_text("Please come back")
    link = page.get_by_role("link", name="retest").get_attribute("href")
    page = open_page(viewport=PHONE)
    page.goto(link)
    expect(page.locator("main")).to_contain_text("you can answer 2 items again")
    look(page, "before")
    RetestVisit.objects.update(due_at=timezone.now())
    page.goto(link)
    look(page, "again")
    for number in (1, 2):
        expect(page.locator("header")).to_contain_text(f"{number} of 2")
        page.check("#choice-b")
        page.fill("#certainty", "55")
        page.click("#submit")
    expect(page.locator("main")).to_contain_text("You have answered every item again.")
    assert set(RetestAnswer.objects.values_list("certainty", flat=True)) == {55}
    look(page, "ended")  # with the completion code, if the study recruits on Prolific


def test_the_page_of_the_linked_study(signed_in, live_server):
    first = make_own_study()
    make_person(first, ["r1"] * 6)
    link_study(first_id=first.pk, slug="linked", rule=LinkRule(examples=1))
    user = User.objects.create_superuser("ada")
    Membership.objects.create(user=user, study=first, role="owner")
    page = signed_in()
    page.goto(f"{live_server.url}/studies/{first.slug}/people/linked/")

    expect(page.locator("h1")).to_contain_text("Linked study")
    look(page, "linked")
    Study.objects.filter(pk=first.pk).update(entry="prolific")
    bring_back(first, 50)
    page.goto(f"{live_server.url}/studies/{first.slug}/people/second-visits/")
    expect(page.locator("h2")).to_contain_text("Bring people back on Prolific")
    look(page, "second-visits")
