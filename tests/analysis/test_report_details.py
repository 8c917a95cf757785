"""Noise without second readings, and several studies."""

import pytest

from analysis.lifecycle.several_studies import tables_across
from analysis.stats.core.multiplicity import holm
from tests.analysis.builders import random_study
from tests.analysis.recomputed.comparing import same
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


def test_of_several_studies_bands_are_adjusted_over_all_of_them(report):
    reports = [report, built(random_study(3, runs=RUNS, **SIZE))]

    (table,) = (table for table in tables_across(reports) if table.name == "by_band")

    tests = [
        versus["by_band"][band]
        for report in reports
        for versus in report["comparison"]
        if versus["features"] == "all"
        for band in ("high", "low")
    ]
    adjusted = holm([test["p"] for test in tests])
    expected = [(test["n"], p) for test, p in zip(tests, adjusted, strict=True) if test["n"]]
    assert len(expected) > 4
    assert [row[3] for row in table.rows] == [n for n, _ in expected]
    assert all(same(row[-1], p) for row, (_, p) in zip(table.rows, expected, strict=True))
