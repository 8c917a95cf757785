"""Thresholds measured on other items, in a report."""

import pytest

from tests.analysis.builders import judge_item, make_run
from tests.analysis.partial import computed
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


def test_a_threshold_is_chosen_on_one_half_of_the_personas_and_measured_on_the_other():
    study = make_study()
    run = make_run(study=study)
    with stored_at_once():
        for number in range(200):
            item = make_item(study=study, persona=make_persona(study=study, key=f"p{number}"))
            wrong = "r2" if item.first_person == "r1" else "r1"
            sure = number % 2 == 0
            judge_item(run, item, item.first_person if sure else wrong, 90 if sure else 40)

    judge = computed(study, "held_out")["judges"][0]

    held = judge["certainty"]["held_out"]
    assert (held["threshold"], held["measured_on"]["accuracy"]) == (90.0, 1.0)
    assert held["n_choosing"] + held["n_held_out"] == 200
    assert held["chosen_on"]["n"] + held["measured_on"]["n"] == 100
