"""Shifts between an item and its changed twin: unbiased, by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.core.shared_variance import Sharing
from extras.personas.chapter import reliance, squared_shifts


@pytest.mark.parametrize(("p", "q"), [(0.7, 0.7), (0.2, 0.9), (1.0, 0.0)])
@pytest.mark.parametrize(("k", "m"), [(2, 2), (3, 5)])
def test_the_expected_shift_is_that_of_all_answers(p, q, k, m):
    ways = np.array(list(product(range(k + 1), range(m + 1))))
    chance = binom.pmf(ways[:, 0], k, p) * binom.pmf(ways[:, 1], m, q)

    shifts = squared_shifts(
        np.stack([ways[:, 0], k - ways[:, 0]], axis=1),
        np.stack([ways[:, 1], m - ways[:, 1]], axis=1),
    )

    assert chance @ shifts == pytest.approx((p - q) ** 2, abs=1e-12)


def test_one_reading_counts_flips_and_too_few_answers_are_left_out():
    before, after = [[1, 0], [1, 0], [0, 0]], [[0, 1], [1, 0], [1, 0]]

    once = squared_shifts(before, after, has_chance=False)
    often = squared_shifts(before, after)

    assert once[:2].tolist() == [1.0, 0.0]
    assert np.isnan(once[2])
    assert np.isnan(often).all()
    nothing = reliance(often, Sharing.of_items(3, {}))
    assert (nothing.n, nothing.shift, nothing.squared.reason) == (0, None, "empty_group")
    with pytest.raises(ValueError, match="differ in shape"):
        squared_shifts([[1, 0]], [[1, 0, 0]])


@pytest.mark.parametrize(("people", "judge"), [(0.0, 0.0), (0.1, 0.3)])
def test_intervals_hold_the_planted_shifts(people, judge):
    """300 pairs of 60 personas, half of which move up; three people and two readings answer."""
    rng = np.random.default_rng(1)
    persona = np.arange(300) // 5
    sharing = Sharing.of_items(300, {"persona": persona})
    held = []
    for _ in range(150):
        sign, base = rng.choice([-1, 1], 60)[persona], rng.uniform(0.3, 0.7, 300)
        sides = []
        for by, k in ((people, 3), (judge, 2)):
            ones = rng.binomial(k, [base, base + sign * by])
            sides.append(squared_shifts(*np.stack([ones, k - ones], axis=2)))
        for shifts, planted in (
            (sides[0], people**2),
            (sides[1] - sides[0], judge**2 - people**2),
        ):
            interval = general_difference(shifts, sharing).interval
            held.append(interval.low <= planted <= interval.high)

    assert np.mean(held) > 0.92
