import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import accuracy_at_coverage, matched_accuracy


def matched(certainty, correct, high, **options):
    return matched_accuracy(
        certainty,
        correct,
        {"item": np.arange(len(certainty))},
        reference_high=high,
        reference_clusters={"item": np.arange(len(high))},
        **options,
    )


@given(st.integers(0, 2**32 - 1))
def test_the_value_is_the_accuracy_at_the_references_coverage(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    certainty = rng.choice([20.0, 50.0, 80.0, 90.0, np.nan], n)
    correct, high = rng.integers(-1, 2, n), rng.random(n) < 0.4

    result = matched(certainty, correct, high)

    usable = ~np.isnan(certainty) & (correct >= 0)
    if not (usable.any() and high.any()):
        assert (result.value, result.reason) == (None, "empty_group")
        return
    expected = accuracy_at_coverage(certainty, correct, high.mean())
    assert result.value == pytest.approx(expected)
    if result.interval is not None:
        assert 0 <= result.interval.low <= result.value + 1e-9
        assert result.value - 1e-9 <= result.interval.high <= 1


def test_the_interval_is_about_as_wide_as_resampling_items_gives():
    rng = np.random.default_rng(1)
    n = 800
    certainty = rng.integers(1, 101, n).astype(float)
    correct = (rng.random(n) < 0.4 + certainty / 250).astype(int)
    high = rng.random(n) < 0.25

    interval = matched(certainty, correct, high).interval

    draws = []
    for _ in range(2000):
        rows = rng.integers(0, n, n)
        draws.append(accuracy_at_coverage(certainty[rows], correct[rows], high[rows].mean()))
    low, top = np.quantile(draws, [0.025, 0.975])
    assert interval.high - interval.low == pytest.approx(top - low, rel=0.12)
    assert interval.low == pytest.approx(low, abs=0.02)


def test_answers_of_one_item_count_as_such():
    rng = np.random.default_rng(2)
    certainty = rng.integers(1, 101, 100).astype(float)
    correct, high = rng.integers(0, 2, 100), rng.random(100) < 0.3
    repeated = [np.repeat(values, 10) for values in (certainty, correct, high)]

    once = matched(certainty, correct, high).interval
    alone = matched(*repeated).interval
    item = {"item": np.repeat(np.arange(100), 10)}
    together = matched_accuracy(
        repeated[0], repeated[1], item, reference_high=repeated[2], reference_clusters=item
    ).interval

    assert alone.high - alone.low < 0.5 * (once.high - once.low)
    assert together.high - together.low == pytest.approx(once.high - once.low, rel=0.1)


def test_both_sides_need_the_same_kinds_of_clusters():
    with pytest.raises(ValueError, match="same names"):
        matched_accuracy(
            [90], [1], {"item": [0]}, reference_high=[1], reference_clusters={"person": [0]}
        )


def test_one_item_has_a_value_and_no_interval():
    result = matched([90], [1], [True])

    assert (result.value, result.interval_reason) == (1.0, "too_few_items")
