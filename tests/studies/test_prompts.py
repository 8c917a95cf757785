"""The words of the tasks: the same for people and judges, and the product's own."""

import re

import pytest

from studies.models import Task
from studies.prompts import BANDS, SETTINGS, wording

WORDINGS = [
    pytest.param(task, setting, persona, id=f"{task}.{setting}.{'persona' if persona else 'none'}")
    for task in Task
    for setting in SETTINGS
    for persona in (True, False)
]


@pytest.mark.parametrize(("task", "setting", "persona"), WORDINGS)
def test_a_prompt_speaks_of_a_person_and_asks_for_what_its_setting_offers(task, setting, persona):
    template = wording(task, setting, persona=persona).template

    assert not re.search(r"\buser\b", template, re.IGNORECASE)
    assert ("[Person]" in template) is persona
    assert "[[A]]" in template
    assert "[[B]]" in template
    assert ("[[C]]" in template) is (setting == "tie")
    assert ("{{ bands }}" in template) is (setting == "certainty")
    assert template.endswith("\n{{ ask }}\n\n[Answer]\n[[")


def test_the_levels_hold_with_a_profile_and_without_one():
    for band in BANDS:
        assert "profile" not in band.definition
        assert "your choice" in band.definition or "other choice" in band.definition


def test_the_levels_cover_every_certainty_once_in_order():
    ranges = [range(band.low, band.high + 1) for band in BANDS]

    assert [n for r in ranges for n in r] == list(range(1, 101))
