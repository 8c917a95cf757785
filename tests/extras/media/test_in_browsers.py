"""Items with pictures and sounds in a real browser."""

import pytest
from playwright.sync_api import expect

from annotation.models import Annotation
from annotation.quality import quality_of
from studies.models import Study
from tests.browser.annotators import enter_items
from tests.browser.conftest import DESKTOP, PHONE, fits_and_reads_well, until
from tests.factories import make_study, sign_in
from tests.studies.media_files import import_zip, picture, sound, with_media, zipped

pytestmark = [
    pytest.mark.sampled(keep=1, group="media in in browsers"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]
LOADED = "[...document.images].length && [...document.images].every((each) => each.naturalWidth)"
QUESTION = "Which of the two would you hang up?"


@pytest.fixture
def shown(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    study = make_study(title="Pictures for a kitchen", items_per_annotator=2)
    media = [{"file": "x/q.wav", "description": QUESTION}]
    items = [with_media(n, "x/a.png", f"x/{n}.jpg", media=media) for n in (1, 2)]
    files = {"x/a.png": picture(size=(1600, 1000)), "x/q.wav": sound(3)}
    for n, color in ((1, "navy"), (2, "teal")):
        files[f"x/{n}.jpg"] = picture("JPEG", color=color, size=(700, 1400))
    import_zip(study.slug, zipped(tmp_path / "i.zip", items, files))
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    return study


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_pictures_fit_and_a_sound_plays_without_choosing(open_page, shown, viewport):
    page = open_page(viewport=viewport)
    enter_items(page, shown)

    until(page, LOADED)
    page.locator(".question-media summary").click()
    expect(page.get_by_text(QUESTION)).to_be_visible()
    until(page, "document.querySelector('audio').duration > 2.9")
    page.evaluate("document.querySelector('audio').currentTime = 2")
    until(page, "document.querySelector('audio').currentTime === 2")
    assert page.locator("input[name=choice]:checked").count() == 0
    fits_and_reads_well(page)


def test_a_picture_opens_in_full_size_without_choosing(open_page, shown):
    page = open_page()
    enter_items(page, shown)

    with page.context.expect_page() as opened:
        page.locator(".card .picture").first.click()

    until(opened.value, "document.images[0].naturalWidth")
    assert opened.value.evaluate("document.images[0].naturalWidth") in (700, 1600)
    assert page.locator("input[name=choice]:checked").count() == 0


def test_the_next_item_shows_its_own_picture(open_page, shown):
    page = open_page()
    enter_items(page, shown)
    sources = "[...document.images].map((each) => each.src).sort().join()"
    before = page.evaluate(sources)

    page.check("#choice-a")
    page.fill("#certainty", "70")
    page.click("#submit")
    page.wait_for_url("**/task/2/")

    until(page, LOADED)
    assert page.evaluate(sources) != before


def test_members_see_the_files_on_the_page_of_an_item(signed_in, shown):
    sign_in(shown)  # creates the user
    page = signed_in(viewport=PHONE)
    page.goto(f"/studies/{shown.slug}/items/x1/")

    until(page, LOADED)
    expect(page.locator("audio")).to_have_count(1)
    fits_and_reads_well(page)


MISSING = "[data-media-missing]"


@pytest.fixture
def without_pictures(open_page, shown):
    """The first item, while no picture or sound can be loaded."""
    page = open_page(viewport=PHONE)
    page.route("**/media/**", lambda route: route.fulfill(status=503))
    enter_items(page, shown)
    page.check("#choice-a")
    page.fill("#certainty", "70")
    return page


def test_nobody_answers_unknowingly_without_a_picture(without_pictures, shown):
    page = without_pictures
    notice = page.locator(MISSING)
    expect(notice).to_contain_text("did not load")
    fits_and_reads_well(page)

    page.locator("#submit").press("Enter")

    expect(notice).to_be_focused()
    expect(notice).to_contain_text("tick “Answer without it” and save")
    assert not Annotation.objects.exists()

    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(notice).to_contain_text("did not load this time either")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.locator("#submit").press("Enter")
    page.wait_for_url("**/task/2/")

    answer = Annotation.objects.get()
    assert answer.media_missing
    assert answer.revisions.get().media_missing
    rules = quality_of(shown)[answer.assignment.annotator_id].rules
    assert "media_missing" in rules
    # The next item has a box of its own.
    assert page.locator("input[name=media_missing]").count() == 1
    expect(page.locator("input[name=media_missing]")).not_to_be_checked()


def test_another_try_shows_the_picture(without_pictures):
    page = without_pictures
    expect(page.locator(MISSING)).to_be_visible()
    page.check("[name=media_missing]")
    page.unroute("**/media/**")

    page.click("[data-load-again]")

    until(page, LOADED)
    expect(page.locator(MISSING)).to_be_hidden()
    page.click("#submit")
    page.wait_for_url("**/task/2/")
    assert not Annotation.objects.get().media_missing


def test_without_a_script_people_say_that_a_picture_is_missing(open_page, shown):
    page = open_page(javascript=False)
    enter_items(page, shown)
    expect(page.locator(MISSING)).to_be_hidden()
    page.check("#choice-a")
    page.fill("#certainty", "70")

    page.get_by_label("A picture or recording did not load").check()
    page.click("#submit")
    page.wait_for_url("**/task/2/")

    assert Annotation.objects.get().media_missing
