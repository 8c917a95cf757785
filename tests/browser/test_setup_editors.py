"""The editors of quotas, questions, checks and texts in Chromium, with and without a script."""

import pytest
from playwright.sync_api import expect

from annotation.models import ComprehensionQuestion, DemographicQuestion, QuotaGroup
from studies.models import Membership
from tests.browser.conftest import PHONE, is_well_in_both_themes
from tests.factories import make_items, make_study, sign_in

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SCRIPTS = pytest.mark.parametrize("javascript", [True, False], ids=["script", "no script"])


@pytest.fixture
def draft(live_server):
    study = make_study(slug="s", state="draft", items_per_annotator=10, annotations_per_item=3)
    make_items(study, 20)
    sign_in(study, role=Membership.Role.EDITOR)
    return study


@pytest.mark.sampled(keep=1)
@SCRIPTS
def test_a_quota_is_set_up_by_clicks_alone(signed_in, draft, javascript):
    page = signed_in(javascript=javascript)
    page.goto("/studies/s/people/places/")
    page.get_by_role("link", name="“About you” questions").click()
    page.click("text=Add gender")
    page.click("text=Add political affiliation")
    page.click("#questions .actions >> text=Save questions")
    page.get_by_role("link", name="Quota groups").click()
    page.get_by_label("What is your gender?").check()
    page.get_by_label("Generally speaking").check()
    page.click("text=Show groups")
    page.click("text=Fill evenly")
    expect(page.get_by_label("Woman, Democrat")).to_have_value("1")

    page.get_by_label("Everyone else").fill("2")
    if not javascript:
        page.click(".actions >> text=Calculate")
    expect(page.locator("[data-all]")).to_have_text("8")
    expect(page.get_by_text("2 more than the items need")).to_be_visible()
    expect(page.locator("[data-pay]")).to_have_text("$36.00")

    page.click("text=Save quota")
    page.wait_for_load_state()
    assert DemographicQuestion.objects.count() == 2
    assert sum(group.target for group in QuotaGroup.objects.all()) == 8


def test_the_sum_follows_each_number_and_leaving_it_unsaved_asks(signed_in, draft):
    page = signed_in(viewport=PHONE)
    page.goto("/studies/s/people/places/")
    page.get_by_label("Answers per item").fill("2")
    expect(page.get_by_label("Annotators", exact=True)).to_have_value("4")
    page.get_by_label("Annotators", exact=True).fill("3")
    expect(page.get_by_label("Items", exact=True)).to_have_value("15")
    asked = []

    def stay(dialog):
        asked.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", stay)
    page.get_by_text("Page: ").click()

    page.get_by_role("link", name="Checks").click(no_wait_after=True)

    expect(page.get_by_label("Annotators", exact=True)).to_have_value("3")
    assert asked == ["beforeunload"]
    is_well_in_both_themes(page)
    page.get_by_role("button", name="Save numbers").click()
    page.get_by_text("15 items × 2 answers = 30 answers, from 3 annotators").wait_for()
    page.get_by_text("Page: ").click()
    page.get_by_role("link", name="Checks").click()
    page.wait_for_url("**/checks/")
    assert asked == ["beforeunload"]


def test_back_and_reload_after_errors_show_the_form_with_what_was_typed(signed_in, draft):
    page = signed_in()
    page.on("dialog", lambda dialog: dialog.accept())  # leaves unsaved changes
    sent = []
    page.on("request", lambda r: sent.append(r.method) if r.is_navigation_request() else None)
    page.goto("/studies/s/people/places/")
    page.get_by_label("Answers per item").fill("many")
    page.click("text=Save numbers")
    expect(page.get_by_text("Enter whole numbers")).to_be_visible()
    sent.clear()

    page.reload()
    expect(page.get_by_label("Answers per item")).to_have_value("many")
    page.goto("/studies/s/")
    page.go_back()

    expect(page.get_by_label("Answers per item")).to_have_value("many")
    expect(page.get_by_text("Enter whole numbers")).to_be_visible()
    assert set(sent) == {"GET"}


@pytest.mark.nightly
def test_the_editors_of_groups_keep_the_rules(signed_in, draft):
    page = signed_in(viewport=PHONE)
    page.goto("/studies/s/people/places/questions/")
    page.click("text=Add gender")
    page.click("text=Add age")
    is_well_in_both_themes(page)
    page.fill("#question-0-label", "")
    page.click("#questions .actions >> text=Save questions")
    expect(page.locator(".error-summary")).to_be_focused()
    is_well_in_both_themes(page)
    page.fill("#question-0-label", "Gender?")
    page.click("#questions .actions >> text=Save questions")
    page.goto("/studies/s/people/places/quota/")
    page.get_by_label("Gender?").check()
    page.get_by_label("How old are you?").check()
    page.click("text=Show groups")
    page.click("summary >> text=Fill by shares")

    is_well_in_both_themes(page)


def test_enter_in_the_grid_adds_up_and_saves_nothing(signed_in, draft):
    page = signed_in(viewport=PHONE, javascript=False)
    page.goto("/studies/s/people/places/questions/")
    page.click("text=Add gender")
    page.click("#questions .actions >> text=Save questions")
    page.goto("/studies/s/people/places/quota/?q=gender&choose=yes")
    page.fill("#target-0", "4")

    page.keyboard.press("Enter")

    # The other gender has three, as they are filled evenly without the small group.
    expect(page.locator("[data-all]")).to_have_text("7")
    assert not QuotaGroup.objects.exists()


@pytest.mark.sampled(keep=1)
@SCRIPTS
def test_a_comprehension_check_is_written_by_clicks_alone(signed_in, draft, javascript):
    page = signed_in(javascript=javascript)
    page.goto("/studies/s/people/checks/")
    page.click("text=Add a question")
    page.fill("#quiz-0-text", "Whose view?")
    page.get_by_role("textbox", name="Option 1").fill("Mine")
    page.get_by_role("textbox", name="Option 2").fill("Theirs")
    page.get_by_label("Option 2 is right").check()
    page.fill("#quiz-0-pointer", "Answer as the person would.")
    page.click("#quiz .actions >> text=Save questions")
    page.wait_for_load_state()

    question = ComprehensionQuestion.objects.get()
    assert (question.options, question.right) == (["Mine", "Theirs"], 1)


@pytest.mark.nightly
def test_the_editor_of_checks_keeps_the_rules(signed_in, draft):
    page = signed_in(viewport=PHONE)
    page.goto("/studies/s/people/checks/")
    page.click("text=Use standard questions")
    page.fill("#item", draft.all_items.first().key)
    page.click("text=Show its texts")
    is_well_in_both_themes(page)
    page.get_by_label("Practice item").check()
    page.click("text=Use this item")
    page.get_by_text("is now a practice item").wait_for()
    is_well_in_both_themes(page)
    page.click("text=Add a question")
    page.click("#quiz .actions >> text=Save questions")
    expect(page.locator(".error-summary")).to_be_focused()
    is_well_in_both_themes(page)


@pytest.mark.sampled(keep=1)
@SCRIPTS
def test_a_consent_is_written_from_the_ready_made_text(signed_in, draft, javascript):
    page = signed_in(javascript=javascript)
    page.goto("/studies/s/people/texts/")
    page.click("#text-consent button[value=template-consent]")
    preview = page.locator("[data-preview=consent]")
    expect(preview.get_by_text("names and institution", exact=True)).to_be_visible()

    text = page.input_value("#id_consent").replace("[[names and institution]]", "Ada, Exampleton")
    page.fill("#id_consent", text)
    if not javascript:
        page.click("#text-consent button[value=preview]")

    expect(preview.get_by_text("Ada, Exampleton")).to_be_visible()
    expect(preview.get_by_text("names and institution", exact=True)).to_have_count(0)
    page.click("#texts > .actions >> text=Save texts")
    page.get_by_text("Texts saved.").wait_for()
    draft.refresh_from_db()
    assert "Ada, Exampleton" in draft.consent


@pytest.mark.nightly
def test_the_editor_of_texts_keeps_the_rules(signed_in, draft):
    page = signed_in(viewport=PHONE)
    page.goto("/studies/s/people/texts/")
    page.click("#text-consent button[value=template-consent]")
    is_well_in_both_themes(page)
    page.fill("#id_contact", "nobody")
    page.click("#texts > .actions >> text=Save texts")
    expect(page.locator(".error-summary")).to_be_focused()
    is_well_in_both_themes(page)
    page.fill("#id_contact", "a@example.org")
    page.click("#texts > .actions >> text=Save texts")
    page.get_by_text("Texts saved.").wait_for()
    page.goto("/s/s/preview/consent/")

    expect(page.get_by_label("I am at least 18 years old.")).to_be_visible()
    is_well_in_both_themes(page)
