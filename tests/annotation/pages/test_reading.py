"""A long context is folded; everything of it is on the page."""

import pytest

from studies.texts.normalisation import LONG, START, reading_of, shown_at_once
from tests.annotation.pages.walking import item_page, start
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db


def page_with(context, **fields):
    study = make_study(**fields)
    make_item(study=study, context=context)
    return item_page(start(study), study).content.decode()


def test_a_long_context_shows_its_start_and_how_long_the_rest_takes():
    context = "Once upon a time. " * 400

    html = page_with(context)

    assert "<summary>Read all <span" in html
    assert "(about 6 minutes of reading)" in html
    assert context.strip() in html
    assert html.index("folded-start") < html.index("<summary>Read all")


def test_a_short_context_is_shown_whole():
    html = page_with("a" * LONG)

    assert "folded" not in html
    assert "Read all" not in html


def test_a_folded_start_ends_at_a_word_boundary():
    reading = reading_of("word " * 1_000)
    unspaced = reading_of("語" * 4_000)

    assert reading.start.endswith("word …")
    assert len(reading.start) <= START + 2
    assert unspaced.start == "語" * START + " …"
    assert unspaced.minutes == 4
    assert (shown_at_once("a" * LONG), shown_at_once("a" * (LONG + 1))) == (LONG, START)
