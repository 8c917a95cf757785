"""Noise without second readings."""

import pytest

from tests.analysis.builders import random_study
from tests.analysis.test_report_numbers import built

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
