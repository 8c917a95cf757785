"""How a study asks for the certainty, what each answer was given with, and final answers."""

import re

import pytest

from annotation.models import Annotation
from tests.annotation.pages.walking import begun, post_answer

pytestmark = pytest.mark.django_db


def open_item(**overrides):
    study, client = begun(2, **overrides)
    return client, client.get(f"/s/{study.slug}/task/")


@pytest.mark.parametrize(
    ("control", "slider", "levels"),
    [("slider", True, False), ("number", False, False), ("levels", False, True)],
)
def test_the_page_offers_the_studys_control_and_always_a_number_box(control, slider, levels):
    _, page = open_item(certainty_control=control)

    text = page.content.decode()
    assert ("data-slider" in text, 'name="level"' in text) == (slider, levels)
    assert 'id="certainty"' in text
    assert "checked" not in text


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("offered", "sent", "stored"),
    [
        ("slider", {"control": "slider"}, "slider"),
        ("slider", {}, "number"),
        ("slider", {"control": "levels"}, "number"),
        ("number", {"control": "slider"}, "number"),
        ("levels", {"level": "confident"}, "levels"),
    ],
)
def test_the_control_used_for_the_certainty_is_stored(offered, sent, stored):
    client, page = open_item(certainty_control=offered)

    post_answer(client, page, certainty="72", **sent)

    assert Annotation.objects.get().certainty_control == stored


def test_a_tie_has_neither_certainty_nor_control():
    client, page = open_item(allow_tie=True)

    post_answer(client, page, choice="tie", certainty="50", control="slider")

    assert Annotation.objects.get().certainty_control == ""


def test_a_number_outside_the_chosen_level_is_refused_in_clear_words():
    client, page = open_item(certainty_control="levels")

    refused = post_answer(client, page, certainty="50", level="confident")

    text = refused.content.decode()
    assert refused.status_code == 422
    assert "Enter a number from 61 to 80, or select another level" in text
    assert re.search(r'id="level-confident" checked', text)
    assert not Annotation.objects.exists()


def test_the_level_of_an_earlier_answer_is_shown_again():
    client, page = open_item(certainty_control="levels")
    post_answer(client, page, certainty="35")

    again = client.get(page.request["PATH_INFO"] + "1/").content.decode()

    assert re.search(r'id="level-moderately_confident" checked', again)


def test_a_study_with_final_answers_promises_no_changes():
    study, client = begun(allow_changes=False)

    for step in ("instructions", "help"):
        page = client.get(f"/s/{study.slug}/{step}/").content.decode()
        assert "change" not in page.split("<main")[1]
