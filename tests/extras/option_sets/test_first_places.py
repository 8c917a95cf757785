"""Positions of first-ranked options, against scipy and a simulation."""

import numpy as np
import pytest
from scipy.stats import chisquare

from extras.option_sets.chapter import first_places


def test_the_test_of_one_length_is_that_of_scipy():
    places = [0] * 31 + [1] * 12 + [2] * 17 + [3] * 20

    found = first_places(places, [4] * 80)

    reference = chisquare([31, 12, 17, 20])
    assert found.p == pytest.approx(reference.pvalue, abs=1e-12)
    assert (found.first.value, found.last.value, found.chance) == (31 / 80, 20 / 80, 0.25)


def test_lengths_add_up_and_chance_is_their_mean():
    three, five = [0] * 20 + [1] * 15 + [2] * 25, [0, 1, 2, 3, 4] * 8 + [4] * 10

    found = first_places(three + five, [3] * 60 + [5] * 50)

    statistic = chisquare([20, 15, 25]).statistic + chisquare([8, 8, 8, 8, 18]).statistic
    assert found.df == 6
    assert found.chance == pytest.approx((60 / 3 + 50 / 5) / 110)
    assert found.p == pytest.approx(_tail(statistic, 6))


def _tail(statistic: float, df: int) -> float:
    """The upper tail of chi-squared with an even number of degrees of freedom, in closed form."""
    half = statistic / 2
    terms = [half**k / np.prod(range(1, k + 1)) for k in range(df // 2)]
    return float(np.exp(-half) * sum(terms))


def test_a_judge_of_content_passes_as_often_as_it_should_and_one_of_places_does_not():
    rng = np.random.default_rng(4)
    sizes = rng.integers(3, 6, size=120)
    rejected = sum(
        (found.p or 1.0) < 0.05
        for found in (first_places(rng.integers(0, sizes), sizes) for _ in range(400))
    )
    leaning = np.where(rng.random(120) < 0.3, 0, rng.integers(0, sizes))

    assert 8 <= rejected <= 34  # 20 expected; outside with probability 0.001
    assert (first_places(leaning, sizes).p or 1.0) < 0.01


def test_what_cannot_be_tested_says_why():
    assert first_places([], []).p_reason == "empty_group"
    few = first_places([0, 1, 2], [3, 3, 3])
    assert (few.p, few.p_reason, few.first.value) == (None, "too_few_items", 1 / 3)
    with pytest.raises(ValueError, match="must be from 0"):
        first_places([3], [3])
