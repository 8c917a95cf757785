"""Differences under many choices, against paired t, a bootstrap, and the blocks they rest on."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats import (
    Votes,
    block_difference,
    shared_annotator_variance,
)
from extras.choices.stats import (
    Clusters,
    paired_contrast,
    set_contrast,
    shared_people,
)


def credits(n=400, seed=0):
    rng = np.random.default_rng(seed)
    ease = rng.normal(size=n)
    first, second = ((rng.random(n) < 1 / (1 + np.exp(-ease - 0.3))).astype(float) for _ in "ab")
    first[rng.random(n) < 0.1] = np.nan
    return first, second, rng


def test_with_items_as_units_it_is_the_paired_t_test():
    first, second, _ = credits()
    known = ~np.isnan(first)

    found = paired_contrast(first, second, Clusters.of(range(first.size)))

    expected = stats.ttest_rel(first[known], second[known])
    assert found.n == known.sum()
    assert found.p == pytest.approx(expected.pvalue)
    assert found.ends == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.narrow == pytest.approx(tuple(expected.confidence_interval(0.9)))


def test_with_clusters_as_units_it_is_the_t_test_over_blocks():
    first, second, rng = credits()
    blocks = rng.integers(0, 25, first.size)

    found = paired_contrast(first, second, Clusters.of(blocks))

    expected = block_difference(first - second, blocks)
    assert found.p == pytest.approx(expected.p)
    assert found.ends == pytest.approx((expected.interval.low, expected.interval.high))


def test_units_without_a_counted_item_are_no_units():
    first, second, _ = credits()
    blocks = np.arange(first.size) // 20
    first[blocks < 5] = np.nan

    found = paired_contrast(first, second, Clusters.of(blocks))

    kept = blocks >= 5
    again = paired_contrast(first[kept], second[kept], Clusters.of(blocks[kept]))
    assert found.ends == pytest.approx(again.ends)


def test_with_shared_people_it_is_a_t_interval_with_their_variance():
    rng = np.random.default_rng(3)
    labels = np.full((60, 12), -1)
    for row in labels:
        row[rng.choice(12, 3, replace=False)] = rng.integers(0, 2, 3)
    votes = Votes.from_matrix(labels)
    first, second = rng.integers(0, 2, (2, 60)).astype(float)

    found = paired_contrast(first, second, shared_people(votes))

    gap = first - second
    spread = shared_annotator_variance(gap, votes, np.arange(60))
    half = stats.t.ppf(0.975, spread.degrees_of_freedom) * spread.variance**0.5
    assert found.ends == pytest.approx((gap.mean() - half, gap.mean() + half))
    margin = stats.t.sf((0.3 - abs(gap.mean())) / spread.variance**0.5, spread.degrees_of_freedom)
    assert found.p_equivalence(0.3) == pytest.approx(margin)


def test_the_contrast_of_sets_agrees_with_a_bootstrap_that_makes_them_anew():
    first, second, rng = credits(n=2000, seed=4)
    sure, others = rng.random(2000) < 0.4, rng.random(2000) < 0.3

    found = set_contrast(first, sure, second, others, Clusters.of(range(2000)))

    draws = []
    for _ in range(600):
        rows = rng.integers(0, 2000, 2000)
        ours = first[rows][sure[rows]]
        draws.append(np.nanmean(ours) - second[rows][others[rows]].mean())
    half = (found.ends[1] - found.ends[0]) / 2
    assert found.value == pytest.approx(np.nanmean(first[sure]) - second[others].mean())
    assert half / 1.961 == pytest.approx(np.std(draws), rel=0.1)


def test_half_credits_count_as_such():
    found = paired_contrast([0.5, 1] * 10, [0, 1] * 10, Clusters.of(range(20)))

    assert found.value == 0.25


@pytest.mark.parametrize(
    ("first", "units", "reason"),
    [
        ([np.nan] * 20, range(20), "empty_group"),
        ([1.0] * 20, [0, 1] * 10, "too_few_items"),
        ([1.0] * 20, range(20), "no_variation"),
    ],
)
def test_what_cannot_be_said_has_a_reason(first, units, reason):
    found = paired_contrast(first, [0.0] * 20, Clusters.of(units))

    assert (found.ends, found.p, found.reason) == (None, None, reason)


def test_an_empty_set_has_no_difference():
    unit = Clusters.of(range(9))

    found = set_contrast([1] * 9, [0] * 9, [1] * 9, [1] * 9, unit)

    assert (found.value, found.reason, found.n, found.n_second) == (None, "empty_group", 0, 9)


def test_too_many_links_are_not_followed(monkeypatch):
    votes = Votes.from_matrix(np.eye(12, dtype=int) + np.eye(12, k=1, dtype=int) - 1)
    monkeypatch.setattr("extras.choices.stats.set_contrasts.MAX_LINKS", 10)

    assert shared_people(votes) is None
