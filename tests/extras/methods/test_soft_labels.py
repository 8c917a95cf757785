"""Distances from the distribution of people's answers: closed forms and other libraries."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from analysis.stats.core.shared_variance import Sharing
from extras.methods.stats.soft_labels import soft_label_scores, squared_distances


def independent(n):
    return Sharing.of_items(n, {"persona": np.arange(n)})


def ways(k, options):
    """Every table of counts of k answers."""
    return [row for row in product(range(k + 1), repeat=options) if sum(row) == k]


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("p", [(0.3, 0.7), (1.0, 0.0), (0.2, 0.5, 0.3)])
def test_the_expected_squared_distance_is_that_of_the_distributions_at_any_number_of_answers(k, p):
    rows = np.array(ways(k, len(p)))
    chances = stats.multinomial.pmf(rows, k, p)
    other = np.roll(p, 1)

    for q in (p, other):
        found = squared_distances(np.tile(q, (len(rows), 1)), rows)

        expected = ((np.array(q) - p) ** 2).sum() / 2
        assert chances @ found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("readings", [0, 3])
def test_a_judge_that_knows_the_shares_has_distance_0_in_simulations(k, readings):
    rng = np.random.default_rng(k)
    n = 20_000
    p = rng.beta(2, 1, n)
    counts = rng.binomial(k, p)
    q, noise = p, None
    if readings:
        q = rng.binomial(readings, p) / readings
        noise = q * (1 - q) / (readings - 1)

    distance = squared_distances(
        np.stack([q, 1 - q], axis=1), np.stack([counts, k - counts], axis=1), noise
    )

    assert abs(distance.mean()) < 4 * distance.std() / n**0.5
    # Without the correction it would be far from 0.
    raw = ((q - counts / k) ** 2).mean()
    assert raw > 20 * distance.std() / n**0.5


def test_items_with_one_answer_or_no_distribution_are_left_out():
    q = [[0.5, 0.5], [np.nan, np.nan], [1.0, 0.0]]

    found = soft_label_scores(q, [[1, 0], [1, 1], [2, 0]], independent(3))
    nothing = soft_label_scores(q, [[1, 0], [1, 1], [0, 0]], independent(3))

    assert (found.n_items, found.squared.value) == (1, 0.0)
    assert (nothing.n_items, nothing.squared.value, nothing.squared.reason) == (0, None, "no_pairs")
    with pytest.raises(ValueError, match="one shape"):
        soft_label_scores([[0.5, 0.5]], [[1, 1, 0]], independent(1))
