"""Errors beside a judge's: brute force, and simulation for the rates that pages state."""

from itertools import combinations
from math import prod

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import poisson_binom

from benchmarks.simulations.of_extras.likeness import careful_errors, probabilities
from extras.likeness.stats import shared_errors, stands_out
from extras.likeness.stats.shared_errors import (
    LIMIT,
    LIMIT_WHEN_HURRIED,
    _errors,
)
from tests.sampling import examples


def brute_force(own, judge, share):
    """Every way to make as many errors, by weight; how likely and how many are shared."""
    n, errors = len(own), sum(own)
    odds = [p / (1 - p) for p in share]
    weights = {chosen: prod(odds[i] for i in chosen) for chosen in combinations(range(n), errors)}
    total = sum(weights.values())
    shared = {chosen: sum(judge[i] for i in chosen) for chosen in weights}
    seen = sum(a and b for a, b in zip(own, judge, strict=True))
    expected = sum(weights[c] * shared[c] for c in weights) / total
    return expected, sum(weights[c] for c in weights if shared[c] >= seen) / total


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_conditional_distribution_counted_one_by_one(seed):
    rng = np.random.default_rng(seed)
    wrong = (rng.random((9, 4)) < 0.5).astype(int)
    judge = (rng.random(9) < 0.5).astype(int)

    result = shared_errors(wrong, judge)[0]

    share = wrong.mean(axis=1)
    varies = (share > 0) & (share < 1)
    certain = int((wrong[~varies, 0] & judge[~varies]).sum())
    expected, probability = brute_force(
        wrong[varies, 0].tolist(), judge[varies].tolist(), share[varies].tolist()
    )
    if result.probability is None:
        assert probability == 1
    else:
        assert result.expected == pytest.approx(certain + expected)
        assert result.probability == pytest.approx(probability)
    assert result.n_both_wrong == int((wrong[:, 0] & judge).sum())


def test_what_everybody_or_nobody_missed_tells_nothing():
    one, _ = shared_errors([[1, 1], [0, 0], [1, 1]], [1, 0, 0])

    assert (one.n, one.n_wrong, one.n_judge_wrong, one.n_both_wrong) == (3, 2, 1, 1)
    assert (one.expected, one.probability, one.reason) == (None, None, "no_variation")


def test_missing_answers_and_verdicts_are_left_out():
    wrong = [[1, 0], [-1, 1], [0, 1], [1, 0], [0, -1]]

    one, two = shared_errors(wrong, [1, 1, 0, -1, 0])

    assert (one.n, one.n_wrong, one.n_judge_wrong) == (3, 1, 1)
    assert (two.n, two.n_wrong, two.n_judge_wrong) == (3, 2, 2)


def test_without_any_item_there_is_a_reason_and_no_number():
    (nobody,) = shared_errors([[-1], [-1]], [1, 0])

    assert (nobody.n, nobody.probability, nobody.reason) == (0, None, "too_few_items")


def test_people_whom_nobody_is_held_against_move_nobody_else():
    rng = np.random.default_rng(3)
    wrong = (rng.random((40, 5)) < 0.4).astype(int)
    judge = (rng.random(40) < 0.4).astype(int)
    measure = [True, True, True, True, False]

    with_them = shared_errors(wrong, judge, measure=measure)
    wrong[:, 4] = judge

    assert shared_errors(wrong, judge, measure=measure)[:4] == with_them[:4]
    assert with_them[:4] == shared_errors(wrong[:, :4], judge)
    assert shared_errors(wrong, judge, measure=measure)[4].probability < 0.01


@pytest.mark.parametrize(
    ("wrong", "judge", "options"),
    [
        ([[1, 2]], [1], {}),
        ([[1, 0]], [1, 0], {}),
        ([1, 0], [1, 0], {}),
        ([[1, 0]], [1], {"measure": [True]}),
    ],
)
def test_arrays_that_do_not_fit_are_refused(wrong, judge, options):
    with pytest.raises(ValueError, match=r"may hold only|has shape"):
        shared_errors(wrong, judge, **options)


def test_a_pace_nobody_reads_at_widens_the_limit():
    between = (LIMIT + LIMIT_WHEN_HURRIED) / 2

    assert [stands_out([between], pace)[1] for pace in (None, 240, 400, 401)] == [
        False,
        False,
        False,
        True,
    ]
    assert stands_out([between / 3, 0.9, 0.9], 401) == (pytest.approx(between), True)


def test_the_distribution_of_the_number_of_errors_is_scipys_poisson_binomial():
    rng = np.random.default_rng(4)
    share = rng.choice([1 / 4, 1 / 3, 1 / 2, 2 / 3], size=30)

    expected = poisson_binom.pmf(np.arange(31), expit(logit(share) - 0.7))

    assert _errors(share, -0.7) == pytest.approx(expected, rel=1e-9)


@pytest.mark.sampled(keep=2, group="simulations")
@pytest.mark.slow
def test_most_of_those_who_copy_a_judge_are_found():
    rng = np.random.default_rng(12)
    found = []
    for _ in range(examples(40, every=100)):
        wrong, judges = careful_errors(rng, item_sd=1.0, person_sd=0.6)
        own = wrong[:, 0] >= 0
        wrong[own, 0] = judges[1][own]
        found.append(probabilities(wrong, judges)[0])

    assert np.mean(np.array(found) < LIMIT) > 0.7
    assert np.mean(np.array(found) < LIMIT_WHEN_HURRIED) > 0.9
