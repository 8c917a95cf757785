"""Quality of certainty in general against other implementations, and trusted coverage."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss, roc_auc_score

from analysis.stats import (
    Sharing,
    Votes,
    risk_coverage,
)
from extras.certainty.stats import (
    coverage_steps,
    general_quality,
    trusted_coverage,
)

RNG = np.random.default_rng(4)
N = 200
CLUSTERS = {"persona": np.arange(N) % 20, "question": np.arange(N) // 20}
SHARING = Sharing.of_items(N, CLUSTERS)
ALONE = Sharing.of_items(N, {})


def drawn(values):
    certainty = RNG.choice(values, N) if values else RNG.uniform(0, 100, N)
    return certainty, (RNG.random(N) < 0.3 + certainty / 200).astype(int)


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("values", [(), (60.0, 80.0, 100.0), tuple(range(0, 101, 5))])
def test_values_are_those_of_scikit_learn_and_variances_those_of_the_jackknife(values):
    certainty, correct = drawn(values)

    found = general_quality(certainty, correct, ALONE)

    assert found.brier.value == pytest.approx(brier_score_loss(correct, certainty / 100))
    assert found.auroc.value == pytest.approx(roc_auc_score(correct, certainty))
    assert found.aurc.value == risk_coverage(certainty, correct).aurc
    assert_jackknife(found.aurc, lambda c, y: risk_coverage(c, y).aurc, certainty, correct)
    low, high = (np.log(end / (1 - end)) for end in ends(found.auroc))
    share = found.auroc.value
    deviation = jackknife(lambda c, y: roc_auc_score(y, c), certainty, correct)
    half = stats.t.ppf(0.975, N - 1) * deviation / (share * (1 - share))
    assert (high - low) / 2 == pytest.approx(half, rel=0.02)


def ends(estimate):
    return estimate.interval.low, estimate.interval.high


def jackknife(statistic, certainty, correct):
    left_out = [statistic(np.delete(certainty, i), np.delete(correct, i)) for i in range(N)]
    return np.sqrt((N - 1) * np.var(left_out))


def assert_jackknife(estimate, statistic, certainty, correct):
    low, high = ends(estimate)
    half = stats.t.ppf(0.975, N - 1) * jackknife(statistic, certainty, correct)
    assert (high - low) / 2 == pytest.approx(half, rel=0.02)


def test_equal_certainties_stay_together_and_steps_count_like_a_sort():
    certainty, correct = drawn((50.0, 70.0, 90.0, 91.0))

    steps = coverage_steps(certainty, correct)

    assert [step.threshold for step in steps] == [91, 90, 70, 50]
    for step in steps:
        accepted = certainty >= step.threshold
        assert (step.n, step.errors) == (accepted.sum(), (1 - correct)[accepted].sum())


def test_without_clusters_p_is_that_of_the_binomial_test_and_counts_every_test():
    certainty, correct = np.linspace(100, 1, N), np.ones(N, dtype=int)
    correct[60:63] = 0

    (first, *_), thrice = (
        trusted_coverage(certainty, correct, ALONE, 0.1, tests=tests).tested for tests in (1, 3)
    )

    exact = stats.binomtest(first.errors, first.n, 0.1, alternative="less").pvalue
    assert first.p == pytest.approx(stats.t.sf(stats.norm.isf(exact), N - 1), rel=1e-6)
    same = next(step for step in thrice if step.n >= first.n)
    exact = stats.binomtest(same.errors, same.n, 0.1, alternative="less").pvalue
    assert same.p == pytest.approx(3 * stats.t.sf(stats.norm.isf(exact), N - 1), rel=1e-6)


def test_errors_of_the_same_personas_count_less():
    certainty, correct = np.linspace(100, 1, N), np.ones(N, dtype=int)
    correct[CLUSTERS["persona"] == 0] = 0

    p = {
        name: trusted_coverage(certainty, correct, sharing, 0.2).p
        for name, sharing in (("alone", ALONE), ("shared", SHARING))
    }

    assert p["alone"] < 0.01 < 2 * p["alone"] < p["shared"]


def test_what_cannot_be_said_has_a_reason():
    few = Sharing.of_items(5, {})
    certainty, correct = [90, 80, 70, 60, 50], [1, 1, 1, 1, 0]
    votes = Votes.from_matrix(np.zeros((N, 3), dtype=int))
    three_people = Sharing.of_items(N, CLUSTERS, votes)

    found = general_quality(certainty, correct, few)

    assert found.brier.interval_reason == found.auroc.reason == "too_few_items"
    assert trusted_coverage(certainty, correct, few, 0.1).reason == "too_few_items"
    assert trusted_coverage([np.nan] * 5, correct, few, 0.1).reason == "empty_group"
    all_right = np.full(N, 90.0), np.ones(N, dtype=int)
    assert trusted_coverage(*all_right, three_people, 0.2).reason == "too_few_annotators"
    assert trusted_coverage(*all_right, SHARING, 0.2).at(0.05).n == N
    assert trusted_coverage(*all_right, SHARING, 0.2).at(0.0) is None
    assert general_quality(*all_right, SHARING).aurc.interval_reason == "no_variation"
    nobody = trusted_coverage([90.0] * N, np.zeros(N, dtype=int), ALONE, 0.2)
    assert (nobody.p, nobody.observed) == (1.0, None)
