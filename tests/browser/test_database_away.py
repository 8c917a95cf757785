"""The page about a database that is away: it says so, keeps what was entered, and fits."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper
from playwright.sync_api import expect

from annotation.models import Annotation, Annotator
from tests.browser.annotators import enter_items
from tests.browser.conftest import PHONE, fits_and_reads_well
from tests.factories import make_study, sign_in

pytestmark = [pytest.mark.nightly, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TITLE = "The server cannot reach its data"


@pytest.fixture
def outage() -> Iterator[pytest.MonkeyPatch]:
    """`begin(outage)` begins a time in which no statement reaches the database, `undo` ends it."""
    with pytest.MonkeyPatch.context() as patched:
        yield patched


def begin(outage: pytest.MonkeyPatch) -> None:
    def fail(*_args, **_kwargs):
        raise OperationalError("the database system is shutting down")

    outage.setattr(CursorWrapper, "execute", fail)


def test_without_scripts_the_page_keeps_an_answer_until_it_is_sent_again(open_page, study, outage):
    page = open_page(javascript=False, viewport=PHONE)
    enter_items(page, study)
    page.check("#choice-b")
    page.fill("#certainty", "83")

    begin(outage)
    page.click("#submit")
    expect(page.locator("h1")).to_have_text(TITLE)
    page.click("button")
    expect(page.locator("h1")).to_have_text(TITLE)
    outage.undo()
    page.click("button")

    page.wait_for_url("**/task/2/")
    answer = Annotation.objects.get()
    assert (answer.choice, answer.certainty) == (answer.assignment.shown_second, 83)


@pytest.mark.nightly
def test_a_script_sends_a_kept_form_again_by_itself(open_page, study, outage):
    page = open_page(viewport=PHONE)
    page.goto(f"/s/{study.slug}/?PROLIFIC_PID=ada&STUDY_ID=s&SESSION_ID=t")

    begin(outage)
    page.click("#consent-yes")
    expect(page.locator("[role=status]")).to_contain_text("keep trying")
    fits_and_reads_well(page)
    outage.undo()

    page.wait_for_url("**/instructions/", timeout=20_000)
    assert Annotator.objects.get().consented_at


def test_a_researcher_finds_the_input_on_the_page_and_sends_it_again(signed_in, outage):
    study = make_study(state="draft")
    sign_in(study)
    page = signed_in()
    page.goto(f"/studies/{study.slug}/people/texts/")
    page.fill("textarea[name=consent]", "Please read this.")

    begin(outage)
    page.get_by_role("button", name="Save texts").last.click()
    expect(page.locator("h1")).to_have_text(TITLE)
    fits_and_reads_well(page)
    outage.undo()
    page.click("button")

    page.wait_for_url("**/people/texts/")
    expect(page.locator("textarea[name=consent]")).to_have_value("Please read this.")
