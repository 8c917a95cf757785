"""Thresholds that a reader may try: each is what a report built with it would say."""

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_tables, build_report
from tests.analysis.builders import little_study, random_study
from tests.analysis.partial import computed
from tests.sampling import some

pytestmark = pytest.mark.django_db

TRIED = (50, 55, 56, 79, 80, 81, 95)


def at(steps, threshold):
    return next(step for step in reversed(steps) if step["from"] <= threshold)


def assert_cells(step, side):
    for part in ("high", "low"):
        cell, expected = step[part], side[part]
        assert (cell["n"], cell["correct"]) == (expected["n"], expected["correct"]), part
        assert cell["ends"] == expected["ci"], part


def test_every_cell_is_what_a_report_with_that_threshold_says():
    study = random_study(5, n_items=60, truths=("r1", "r2", "r1", "tie", ""))
    steps = computed(study, "high_and_low")["by_threshold"]

    for threshold in some(TRIED, keep=3):
        report = computed(study, "accuracies", "group_accuracy", threshold=threshold)

        for unit in ("majority", "individual"):
            assert_cells(at(steps[unit], threshold), report["human"][unit])
        for found, judge in zip(steps["judges"], report["judges"], strict=True):
            assert_cells(at(found, threshold), judge)
        topics = next(group for group in report["groups"] if group["by"] == "topic")["rows"]
        assert [row["value"] for row in topics] == [row["value"] for row in steps["topics"]]
        for found, topic in zip(steps["topics"], topics, strict=True):
            assert_cells(at(found["people"], threshold), topic["people"])
            for of_run, judge in zip(found["judges"], topic["judges"], strict=True):
                assert_cells(at(of_run, threshold), judge)


def test_the_grid_reaches_as_far_as_the_report_s_own_threshold():
    steps = computed(random_study(6), "high_and_low", threshold=30)["by_threshold"]

    assert (steps["from"], steps["to"]) == (30, 95)
    assert steps["majority"][0]["from"] == 30


def test_the_table_of_a_threshold_of_its_own_choice_says_explored():
    data = load_dataset(little_study(6).slug)

    table = all_tables(build_report(data, seed=1, bootstrap=100, threshold=70))["table_a"]

    assert table.threshold == "70, explored"
