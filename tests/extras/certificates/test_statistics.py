"""Statistics of certificates: the labels that they need, and whether items have moved."""

import doctest

import numpy as np
import pytest
from scipy.stats import binom

import extras.certificates.statistics
from analysis.data.domain import shifts
from extras.certificates.statistics import labels_needed
from extras.certificates.stats import (
    certify_threshold,
    starting_threshold,
)


def test_every_example_gives_what_it_shows():
    result = doctest.testmod(extras.certificates.statistics)

    assert result.attempted > 1
    assert result.failed == 0


def power(n, coverage, error, max_error, delta):
    """The exact chance that a threshold passes with n items."""
    accepted = np.arange(n + 1)
    passes = []
    for count in accepted:
        most = int(binom.ppf(delta, count, max_error)) + 1
        while most >= 0 and binom.cdf(most, count, max_error) > delta:
            most -= 1
        passes.append(binom.cdf(most, count, error) if count and most >= 0 else 0.0)
    return float((binom.pmf(accepted, n, coverage) * passes).sum())


def test_the_labels_needed_have_the_power_that_they_promise():
    """One threshold, so that the exact power is a sum over binomial distributions."""
    certainty, correct = [80] * 100 + [10] * 100, [1] * 90 + [0] * 110
    rng = np.random.default_rng(5)

    found = labels_needed(certainty, correct, max_error=0.2, delta=0.1, rng=rng)

    error = 0.1
    assert power(found, 0.5, error, 0.2, 0.1) == pytest.approx(0.8, abs=0.04)
    assert power(int(found * 0.75), 0.5, error, 0.2, 0.1) < 0.78


def test_answers_without_an_error_need_as_many_labels_as_accept_the_fewest():
    """Two thirds are accepted and 230 without an error pass: with luck in the coverage from 345."""
    certainty, correct = [90] * 40 + [60] * 20, [1] * 40 + [0] * 20
    rng = np.random.default_rng(0)

    found = labels_needed(certainty, correct, max_error=0.01, delta=0.1, rng=rng)

    assert 345 < found < 375


def test_labels_that_no_number_reaches_are_none():
    rng = np.random.default_rng(0)

    assert labels_needed([90] * 50, [0] * 50, max_error=0.1, delta=0.1, rng=rng) is None
    assert labels_needed([], [], max_error=0.1, delta=0.1, rng=rng) is None


def test_certified_thresholds_need_no_more_labels_than_there_are():
    certainty, correct = [90] * 200, [1] * 198 + [0] * 2
    start = starting_threshold(certainty, 200)
    assert certify_threshold(certainty, correct, max_error=0.1, start=start).threshold == 50

    rng = np.random.default_rng(0)

    assert labels_needed(certainty, correct, max_error=0.1, delta=0.1, rng=rng) <= 200


def test_items_have_moved_only_where_the_difference_is_neither_chance_nor_small():
    rng = np.random.default_rng(8)
    before, like, longer = rng.gamma(3, 40, 400), rng.gamma(3, 40, 300), rng.gamma(3, 60, 300)

    found = shifts(
        {"same": (before, like), "longer": (before, longer)},
        {"topic": (["a", "b"] * 200, ["a"] * 280 + ["b"] * 20), "one": (["a"], ["a"])},
    )

    assert [(shift.feature, shift.has_moved) for shift in found] == [
        ("same", False),
        ("longer", True),
        ("topic", True),
        ("one", False),
    ]
    many = rng.gamma(3, 40, 40_000), rng.gamma(3, 42, 40_000)
    assert not shifts({"a little": many}, {})[0].has_moved
    assert shifts({"none": ([], [1])}, {"none": ([], ["a"])}) == []
