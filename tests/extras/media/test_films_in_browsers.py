"""Items with films in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Annotation
from studies.models import Study
from tests.browser.annotators import enter_items
from tests.browser.conftest import PHONE, fits_and_reads_well, until
from tests.factories import make_study, sign_in
from tests.studies.files import raw_item
from tests.studies.film_files import CAPTIONS, film
from tests.studies.media_files import import_zip, zipped

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# WebM, because a Chromium without licensed codecs cannot play H.264.
LOADED = "[...document.querySelectorAll('video')].every((film) => film.duration > 1.8)"


@pytest.fixture(scope="module")
def films() -> dict[str, bytes]:
    return {
        "a.webm": film("webm", size=(640, 360), sound=True),
        "b.webm": film("webm", size=(360, 640), color=250, sound=True),
        "a.vtt": CAPTIONS.encode(),
    }


@pytest.fixture
def shown(settings, tmp_path, monkeypatch, films):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    # A film comes in several parts, as a long one does.
    monkeypatch.setattr("extras.media.views._MOST_OF_A_RANGE", 8_000)
    study = make_study(title="Films of a beach", items_per_annotator=1)
    media = [
        {"file": "a.webm", "description": "A red beach.", "captions": "a.vtt"},
        {"file": "b.webm", "description": "A blue beach."},
    ]
    responses = [
        {"key": key, "text": "", "media": [one]}
        for key, one in zip(("r1", "r2"), media, strict=True)
    ]
    item = raw_item(1, responses=responses, shuffle_sides=False)
    import_zip(study.slug, zipped(tmp_path / "i.zip", [item], films))
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    return study


def test_films_wait_play_with_captions_and_choose_nothing(open_page, shown):
    page = open_page(viewport=PHONE)
    enter_items(page, shown)

    until(page, LOADED)
    assert page.evaluate("[...document.querySelectorAll('video')].every((film) => film.paused)")
    until(page, "document.querySelector('video track').track.cues?.length === 1")
    page.evaluate("document.querySelector('video').play()")
    until(page, "document.querySelector('video').ended")
    page.locator("video").first.press("Space")
    page.locator("summary", has_text="Read what the film shows").first.click()
    # Chance decides which response comes first.
    expect(page.get_by_text(re.compile("A (red|blue) beach.")).first).to_be_visible()
    expect(page.get_by_text("This film has sound and no captions.")).to_have_count(1)
    assert page.locator("input[name=choice]:checked").count() == 0
    fits_and_reads_well(page)

    page.check("#choice-a")
    page.fill("#certainty", "70")
    page.click("#submit")
    expect(page.locator("video")).to_have_count(0)
    assert Annotation.objects.get().media_missing is False


def test_members_see_the_films_on_the_page_of_an_item(signed_in, shown):
    sign_in(shown)  # creates the user
    page = signed_in(viewport=PHONE)
    page.goto(f"/studies/{shown.slug}/items/x1/")

    until(page, LOADED)
    expect(page.locator("video")).to_have_count(2)
    fits_and_reads_well(page)


def test_a_film_that_does_not_load_is_said(open_page, shown):
    page = open_page(viewport=PHONE)
    page.route("**/media/**", lambda route: route.fulfill(status=503))
    enter_items(page, shown)

    expect(page.locator("[data-media-missing]")).to_contain_text("did not load")
