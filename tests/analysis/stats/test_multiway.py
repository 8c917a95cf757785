from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import (
    multiway_mean,
    multiway_proportion,
    multiway_variance,
)

CODES = st.lists(
    st.tuples(st.integers(0, 1), *(st.integers(0, 3) for _ in range(3))), min_size=2, max_size=30
)


def summed_over_pairs(y, clusters):
    """The same variance as a sum over pairs of rows that share any cluster, without factors."""
    error = np.asarray(y, dtype=float) - np.mean(y)
    total = 0.0
    for i, j in product(range(len(y)), repeat=2):
        if any(codes[i] == codes[j] for codes in clusters.values()):
            total += error[i] * error[j]
    return total / len(y) ** 2


@given(CODES)
def test_three_ways_give_the_sum_over_all_pairs_that_share_something(rows):
    y, *codes = np.array(rows).T
    clusters = dict(zip(("item", "annotator", "question"), codes, strict=True))
    result = multiway_variance(y, clusters)
    if result is None:
        assert all(np.unique(values).size == 1 for values in codes)
        return

    shared = {name: clusters[name] for name in result.used}
    factors = sum(
        result.by[name] * (1 - (size - 1) / size)
        for name, size in result.n_clusters.items()
        if name in result.used
    )
    expected = max(summed_over_pairs(y, shared) + factors, *result.by.values())
    assert result.variance == pytest.approx(expected, abs=1e-12)


def test_a_clustering_inside_another_adds_nothing_and_one_cluster_is_named():
    item = np.arange(60)
    right = np.random.default_rng(1).random(60) < 0.5
    persona = item // 5

    alone = multiway_proportion(right, {"persona": persona})
    nested = multiway_proportion(
        right, {"item": item, "persona": persona, "question": np.zeros(60, dtype=int)}
    )

    assert nested.used == ("persona",)
    assert dict(nested.n_clusters) == {"item": 60, "persona": 12, "question": 1}
    assert nested.proportion.interval.low <= alone.proportion.interval.low + 1e-12
    assert nested.proportion.interval.note == "only one question"


def test_what_has_no_interval_says_why():
    one = {"question": [3, 3, 3]}

    assert multiway_proportion([1, 0, 1], one).proportion.interval_reason == "too_few_items"
    assert multiway_proportion([], {"item": []}).proportion.reason == "empty_group"
    assert multiway_mean([np.nan], {"item": [0]}).reason == "empty_group"
    assert multiway_mean([1, 1, 1], {"item": [0, 1, 2]}).interval_reason == "no_variation"
    assert multiway_mean([1, 2], {"item": [5, 5]}).interval_reason == "too_few_items"


@pytest.mark.nightly
def test_personas_and_questions_widen_the_interval_to_its_level_where_items_do_not():
    """20 personas by 20 questions, one item each; both make items alike."""
    rng = np.random.default_rng(3)
    persona, question = (codes.ravel() for codes in np.indices((20, 20)))
    z = np.random.default_rng(0).normal(0, 2**0.5 * 0.8, 400_000)
    truth = (1 / (1 + np.exp(-(0.5 + z)))).mean()
    covered = {"item": 0, "all": 0}
    for _ in range(600):
        logit = 0.5 + rng.normal(0, 0.8, 20)[persona] + rng.normal(0, 0.8, 20)[question]
        right = rng.random(400) < 1 / (1 + np.exp(-logit))
        clusters = {"item": np.arange(400)}
        for name in covered:
            interval = multiway_proportion(right, clusters).proportion.interval
            covered[name] += interval.low <= truth <= interval.high
            clusters |= {"persona": persona, "question": question}

    assert covered["item"] / 600 < 0.75
    assert 0.92 <= covered["all"] / 600 <= 0.98
