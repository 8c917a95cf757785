"""Answers as sets: distances without bias, and forced choices rebuilt from sets."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from analysis.stats.core.shared_variance import Sharing
from extras.methods.stats.response_sets import (
    forced_choices,
    forced_shares,
    ranks,
    set_distance,
    set_vectors,
)


def apart(n):
    return Sharing.of_items(n, {"persona": np.arange(n)})


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_expected_distance_is_that_of_the_vectors_at_any_number_of_answers(k):
    p, q = np.array([0.5, 0.2, 0.3]), np.array([0.1, 0.3, 0.6])
    counts = np.array([c for c in product(range(k + 1), repeat=3) if sum(c) == k])
    chance = stats.multinomial.pmf(counts, k, p)

    each = [
        set_distance(np.tile(q, (2, 1)), np.tile(row, (2, 1)), apart(2)).value for row in counts
    ]

    expected = ((set_vectors(q[None]) - set_vectors(p[None])) ** 2).mean()
    assert chance @ each == pytest.approx(expected)


def test_two_judges_with_equal_sets_and_opposite_forced_choices_tie_on_sets():
    """One turns all its "either" into r1, the other into r2; people are forced towards r1."""
    rng = np.random.default_rng(5)
    sets = rng.integers(0, 3, 300)
    people = np.array([rng.multinomial(4, [0.5, 0.1, 0.4]) for _ in range(300)])
    to_first = np.where(sets == 2, 0, sets)
    to_second = np.where(sets == 2, 1, sets)

    by_sets, by_force = [], []
    for forced in (to_first, to_second):
        shares = np.eye(3)[sets]
        by_sets.append(set_distance(shares, people, apart(300)).value)
        rebuilt = forced_shares(shares, forced_choices(sets, forced).shares)[:, 0]
        by_force.append(float(((rebuilt - 0.7) ** 2).mean()))

    assert by_sets[0] == by_sets[1]
    assert ranks(by_sets) == [1, 1]
    assert ranks(by_force) == [1, 2]


def test_forced_shares_rebuilt_with_the_estimated_matrix_are_those_that_were_given():
    rng = np.random.default_rng(9)
    truth = np.array([[0.95, 0.05], [0.1, 0.9], [0.7, 0.3]])
    p = rng.dirichlet([1, 1, 1], 30)
    sets = np.array([rng.choice(3, 800, p=each) for each in p])
    forced = (rng.random(sets.shape) > truth[sets, 0]).astype(int)

    found = forced_choices(sets.ravel(), forced.ravel())
    given = np.array([[(row == side).mean() for side in (0, 1)] for row in forced])
    own = np.array([[(row == kind).mean() for kind in range(3)] for row in sets])

    assert found.shares == pytest.approx(truth, abs=0.02)
    assert found.counts.sum() == 24_000
    assert forced_shares(own, found.shares) == pytest.approx(given, abs=0.05)


def test_pairs_without_a_set_or_a_choice_are_left_out():
    found = forced_choices([0, -1, 2, 2], [0, 1, -1, 1])

    assert found.counts.tolist() == [[1, 0], [0, 0], [0, 1]]
    assert found.shares.tolist() == [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    with pytest.raises(ValueError, match="shape"):
        forced_shares([[1, 0, 0]], [[1, 0], [0, 1]])
