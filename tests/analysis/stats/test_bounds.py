from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import accuracy_bounds, difference_bounds, wilson_interval

SIDE = st.sampled_from([-1, 0, 1])


def test_the_ends_are_those_of_filling_in_every_excluded_answer():
    result = accuracy_bounds(60, 90, 10)

    assert (result.value, result.low, result.high) == (60 / 90, 60 / 100, 70 / 100)
    assert result.interval.low == wilson_interval(60, 100).low
    assert result.interval.high == wilson_interval(70, 100).high
    assert (result.n, result.n_excluded) == (90, 10)


@given(st.lists(st.tuples(SIDE, SIDE), min_size=1, max_size=6))
def test_bounds_of_a_difference_are_the_least_and_greatest_of_all_fillings(rows):
    first, second = (np.array([row[i] for row in rows]) for i in (0, 1))
    result = difference_bounds(first, second)
    if result.reason:
        assert not ((first >= 0) & (second >= 0)).any()
        return

    options = [((0, 1) if value < 0 else (value,)) for value in np.concatenate([first, second])]
    filled = [np.array(choice) for choice in product(*options)]
    differences = [np.mean(f[: len(rows)] - f[len(rows) :]) for f in filled]
    assert result.low == pytest.approx(min(differences))
    assert result.high == pytest.approx(max(differences))
    assert result.low <= result.high


def test_the_sign_holds_only_where_no_filling_turns_it():
    assert difference_bounds([1] * 6 + [-1], [0] * 6 + [1]).sign_holds
    assert not difference_bounds([1, -1, -1], [0, 1, 1]).sign_holds
    assert not difference_bounds([1, 0], [0, 1]).sign_holds


def test_without_answers_there_are_no_bounds_and_all_excluded_leaves_everything_open():
    assert accuracy_bounds(0, 0, 0).reason == "empty_group"
    open_ended = accuracy_bounds(0, 0, 4)
    assert (open_ended.value, open_ended.low, open_ended.high) == (None, 0, 1)
