"""Simulated annotators at a whole set of responses."""

import random

import pytest

from benchmarks.load.participants import SimulatedAnnotator
from tests.annotation.pages.test_whole_sets import at_set, client, study
from tests.annotation.pages.walking import post_answer

__all__ = ["client", "study"]

pytestmark = pytest.mark.django_db


def test_the_simulated_annotators_of_a_load_test_put_a_set_in_order(client):
    page, _ = at_set(client)
    simulated = SimulatedAnnotator(None, 1, random.Random(1), {"slug": "s"})

    places = simulated._places(page.content.decode())

    assert sorted(places) == ["place_a", "place_b", "place_c", "place_d"]
    assert post_answer(client, page, choice=None, **places).status_code == 303


def test_they_answer_what_extras_ask_next_to_the_choice():
    simulated = SimulatedAnnotator(None, 1, random.Random(1), {"slug": "s"})
    page = (
        '<input type="radio" name="choice" value="a"><div data-added>'
        '<input type="radio" name="how" value="2"><input type="text" name="why" id="why"></div>'
        '<fieldset class="levels"><input type="radio" name="level" value="confident">'
    )

    assert simulated._added(page) == {"how": "2", "why": "A word or two."}
    assert simulated._added("<div></div>") == {}
