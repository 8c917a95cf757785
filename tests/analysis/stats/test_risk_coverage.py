from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats import (
    accuracy_at_coverage,
    check_threshold,
    risk_coverage,
)
from tests.analysis.stats.reference import vector

CASE = vector("calibration_200")
CONF, CORRECT, EXPECTED = CASE["conf_percent"], CASE["correct"], CASE["expected"]

few_answers = st.lists(
    st.tuples(st.sampled_from([20, 40, 60]), st.integers(0, 1)), min_size=1, max_size=6
)


def test_the_area_under_the_curve_is_the_reference_one():
    curve = risk_coverage(CONF, CORRECT)

    assert curve.aurc == pytest.approx(EXPECTED["aurc_tie_averaged"], abs=1e-12)
    assert curve.e_aurc == pytest.approx(EXPECTED["e_aurc"], abs=1e-12)


@given(few_answers)
@settings(max_examples=50)
def test_ties_count_as_the_mean_over_all_orders_of_the_tied_answers(rows):
    areas = []
    for order in permutations(rows):
        if any(a[0] < b[0] for a, b in pairwise(order)):
            continue
        errors = np.cumsum([1 - correct for _, correct in order])
        areas.append(np.mean(errors / np.arange(1, len(order) + 1)))

    curve = risk_coverage(*zip(*rows, strict=True))

    assert curve.aurc == pytest.approx(np.mean(areas), abs=1e-12)
    assert curve.e_aurc >= -1e-12


def test_both_readings_of_the_threshold_differ_by_the_answers_exactly_at_it():
    check = check_threshold([80, 80, 90, 70, np.nan], [1, 0, 1, 1, 1], 80)

    assert check.n_at == 2
    assert (check.at_least.correct, check.at_least.n) == (2, 3)
    assert (check.above.correct, check.above.n) == (1, 1)


def test_accuracy_at_a_coverage_takes_part_of_a_tied_group_with_its_mean():
    certainty, correct = [90, 80, 80, 80, 60], [1, 1, 0, 0, 0]

    assert accuracy_at_coverage(certainty, correct, 0.2) == 1.0
    assert accuracy_at_coverage(certainty, correct, 0.4) == pytest.approx((1 + 1 / 3) / 2)
    assert accuracy_at_coverage(certainty, correct, 1.0) == pytest.approx(0.4)


def test_without_answers_there_is_no_curve():
    assert risk_coverage([np.nan], [1]).reason == "empty_group"
    assert accuracy_at_coverage([], [], 0.5) is None
