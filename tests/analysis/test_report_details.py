"""Noise without second readings, and groups of annotators."""

import pytest

from tests.analysis.builders import answer, make_rater, make_run, random_study
from tests.analysis.partial import computed
from tests.analysis.test_report_numbers import built
from tests.factories import make_item, make_study, stored_at_once

pytestmark = pytest.mark.django_db

RUNS = tuple(
    {"judge": judge, "setting": "certainty", "features": features}
    for judge, features in (("steady", "all"), ("steady", "none"), ("other", "all"))
)
SIZE = {"n_items": 60, "n_raters": 9, "truths": ("r1", "r2", "r1", "r2", "")}


@pytest.fixture(scope="module")
def report(module_db):
    return built(random_study(1, runs=RUNS, **SIZE))


def test_a_change_between_runs_that_asked_once_is_not_told_from_noise(report):
    (entry,) = report["ablations"]

    assert entry["same_choice"] is not None
    found = entry["beyond_noise"]
    assert (found["excess"], found["excess_reason"]) == (None, "one_sample")


def test_annotators_are_grouped_by_what_they_say_and_nobody_can_be_made_out():
    study = make_study()
    items = [make_item(study=study, first_person="r1") for _ in range(30)]
    said = ["rural"] * 5 + ["urban"] * 6 + ["island"]
    with stored_at_once():
        for number, region in enumerate(said):
            rater = make_rater(study=study, demographics={"region": region})
            for place, item in enumerate(items):
                answer(rater, item, "r1" if (place + number) % 3 else "r2", 60)
    make_run(study=study)

    (table,) = computed(study, "annotator_groups")["annotator_groups"]

    rows = {row["value"]: (row["people"], row["answers"]["n"]) for row in table["rows"]}
    assert table["label"] == "region"
    assert (rows, table["left_out"]) == ({"rural": (5, 150), "urban": (6, 180)}, 1)
    assert all(row["answers"]["accuracy"] == pytest.approx(2 / 3) for row in table["rows"])
    (pair,) = table["differences"]
    assert (pair["first"], pair["second"]) == ("rural", "urban")
    assert pair["difference"] == pytest.approx(0)
