"""Errors by group of personas, against Welch's test and by hand."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats import errors_by_group


def test_personas_of_one_size_give_welchs_test_of_their_means():
    rng = np.random.default_rng(1)
    persona = np.repeat(np.arange(20), 6)
    wrong = (rng.random(120) < 0.4).astype(float)

    found = errors_by_group(wrong, persona < 7, persona)

    means = wrong.reshape(20, 6).mean(axis=1)
    expected = stats.ttest_ind(means[:7], means[7:], equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert found[1].p == pytest.approx(expected.pvalue)
    assert found[1].difference.interval.low == pytest.approx(interval.low)
    assert found[1].difference.interval.high == pytest.approx(interval.high)
    assert found[0].difference.value == pytest.approx(-found[1].difference.value)
    assert found[1].n == 42
    assert (found[1].personas, found[1].personas_rest) == (7, 13)


def test_missing_values_and_personas_without_a_group_are_left_out():
    persona = np.repeat(np.arange(12), 2)
    group = np.repeat([0, 1, -1], 8)
    wrong = np.tile([1.0, np.nan], 12)

    found = errors_by_group(wrong, group, persona)

    assert [(one.group, one.n, one.inside) for one in found] == [(0, 4, 1.0), (1, 4, 1.0)]
    assert {one.difference.interval_reason for one in found} == {"no_variation"}


def test_what_is_undefined_says_why():
    persona = np.arange(20)

    alone = errors_by_group([1.0, 0.0] * 10, np.zeros(20, dtype=int), persona)
    same = errors_by_group(np.ones(20), persona < 10, persona)

    assert (alone[0].outside, alone[0].difference.reason) == (None, "empty_group")
    assert (same[0].p, same[0].difference.interval_reason) == (None, "no_variation")
    assert errors_by_group([], [], []) == ()
