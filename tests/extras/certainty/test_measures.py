"""Thresholds and corrections measured on other items, in a report."""

import pytest

from analysis.report.build import all_tables
from tests.analysis.builders import judge_item, make_run
from tests.analysis.partial import computed, report_of
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

    judge = computed(study, "validation")["judges"][0]

    held = judge["certainty"]["held_out"]
    assert (held["threshold"], held["measured_on"]["accuracy"]) == (90.0, 1.0)
    assert held["n_choosing"] + held["n_held_out"] == 200
    assert held["chosen_on"]["n"] + held["measured_on"]["n"] == 100
    recalibration = judge["certainty"]["recalibration"]
    # As stated .9 and .4 for certain and impossible; corrected out of sample both are known.
    assert recalibration["raw"] == pytest.approx((0.1**2 + 0.4**2) / 2)
    assert recalibration["isotonic"] == pytest.approx(0)
    assert recalibration["base_rate"] == pytest.approx(0.25, abs=0.01)


def test_what_never_varies_has_no_interval():
    study = make_study()
    run = make_run(study=study)
    for _ in range(40):
        judge_item(run, make_item(study=study, first_person="r1"), "r1", 50)

    report = report_of(study)

    assert {row[6] for row in all_tables(report)["recalibration"].rows} == {None}
