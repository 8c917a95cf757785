import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.stats import rankdata
from sklearn.metrics import brier_score_loss, roc_auc_score

from analysis.stats import (
    brier_score,
    calibration_error,
    discrimination,
)
from extras.certainty.stats import (
    certainty_quality,
)
from extras.certainty.stats.intervals import auroc_score_interval
from tests.analysis.stats.reference import vector

CASE = vector("calibration_200")
ROWS = st.lists(
    st.tuples(st.integers(0, 10).map(lambda v: 10.0 * v), st.integers(0, 1)),
    min_size=1,
    max_size=60,
)


def seeded(seed=1):
    return np.random.default_rng(seed)


@given(ROWS)
def test_the_values_are_those_of_the_measures_by_themselves(rows):
    certainty, correct = np.array(rows).T
    correct = correct.astype(int)

    result = certainty_quality(certainty, correct, rng=seeded(), n_draws=10)

    base = correct.mean()
    assert result.ece.value == pytest.approx(
        calibration_error(certainty, correct, binning="distinct").ece
    )
    assert result.brier.value == pytest.approx(brier_score_loss(correct, certainty / 100))
    assert result.skill.value == pytest.approx(base * (1 - base) - result.brier.value)
    alone = discrimination(certainty, correct)
    assert result.auroc.reason == alone.reason
    if alone.auroc is not None:
        assert result.auroc.value == pytest.approx(roc_auc_score(correct, certainty))
    parts = brier_score(certainty, correct)
    assert result.skill.value == pytest.approx(parts.resolution - parts.reliability)


def bootstrap_by_hand(certainty, correct, cluster, statistic, n_draws, seed):
    rng = np.random.default_rng(seed)
    units = [np.flatnonzero(cluster == c) for c in np.unique(cluster)]
    values = []
    for _ in range(n_draws):
        rows = np.concatenate([units[i] for i in rng.integers(0, len(units), len(units))])
        values.append(statistic(certainty[rows], correct[rows]))
    return np.quantile(values, [0.025, 0.975])


def auroc_by_ranks(certainty, correct):
    """What roc_auc_score gives, in a tenth of its time."""
    won = correct.sum()
    ranks = rankdata(certainty)[correct == 1].sum()
    return (ranks - won * (won + 1) / 2) / (won * (correct.size - won))


@pytest.mark.sampled(keep=1)
@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 4])
def test_intervals_are_those_of_resampling_items_one_by_one(size):
    certainty = np.array(CASE["conf_percent"], dtype=float)
    correct = np.array(CASE["correct"]) if "correct" in CASE else np.array(CASE["y"])
    cluster = np.arange(certainty.size) // size
    assert auroc_by_ranks(certainty, correct) == pytest.approx(roc_auc_score(correct, certainty))

    result = certainty_quality(
        certainty, correct, None if size == 1 else cluster, rng=seeded(), n_draws=4000
    )

    for estimate, statistic in [
        (result.auroc, auroc_by_ranks),
        (result.brier, lambda c, y: np.mean((c / 100 - y) ** 2)),
    ]:
        low, high = bootstrap_by_hand(certainty, correct, cluster, statistic, 1500, 2)
        width = high - low
        assert estimate.interval.low == pytest.approx(low, abs=0.09 * width)
        assert estimate.interval.high == pytest.approx(high, abs=0.09 * width)
        method = "item bootstrap" if size == 1 else "cluster bootstrap"
        assert (estimate.interval.method, estimate.interval.n_items) == (
            method,
            certainty.size // size,
        )


def test_missing_answers_are_left_out_with_their_clusters():
    result = certainty_quality(
        [80, np.nan, 60, 70], [1, 1, -1, 0], [0, 1, 2, 3], rng=seeded(), n_draws=20
    )

    assert (result.n, result.n_missing, result.n_clusters, result.few) == (2, 2, 2, True)


def test_what_is_undefined_says_why():
    empty = certainty_quality([], [], rng=seeded())
    one = certainty_quality([80], [1], rng=seeded())

    assert empty.brier.reason == "empty_group"
    assert one.brier.interval_reason == "too_few_items"
    assert one.squared_error.reason == "too_few_items"
    assert one.auroc.reason == "no_variation"
    assert one.ece.interval_reason == "biased"


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="`cluster` has 1 rows"):
        certainty_quality([80, 90], [1, 0], [0], rng=seeded())
    with pytest.raises(ValueError, match="`n_draws` must be at least 2"):
        certainty_quality([80], [1], rng=seeded(), n_draws=1)


def test_answers_of_one_cluster_are_no_pair():
    """Three readings of one item say less about its certainty than three items."""
    certainty, correct = np.array([80.0] * 6), np.array([1, 1, 1, 0, 0, 1])

    result = certainty_quality(certainty, correct, [0, 0, 0, 1, 1, 2], rng=seeded(), n_draws=10)

    error = correct - 0.8
    sums = [error[:3].sum(), error[3:5].sum(), error[5:].sum()]
    pairs = 2 * (sums[0] * sums[1] + sums[0] * sums[2] + sums[1] * sums[2])
    assert result.squared_error.value == pytest.approx(pairs / (36 - 9 - 4 - 1))


def test_a_certainty_that_never_varies_separates_nothing_and_says_how_sure_that_is():
    constant = certainty_quality([80] * 40, [1, 0] * 20, rng=np.random.default_rng(1))
    always_right = certainty_quality([90] * 40, [1] * 40, rng=np.random.default_rng(1))

    assert constant.auroc.value == 0.5
    assert 0.25 < constant.auroc.interval.low < 0.4
    assert always_right.brier.interval.method == "exact, all values the same"
    assert always_right.brier.interval.high == pytest.approx(0.01 + (1 - 0.05 ** (1 / 40)) * 0.99)
    assert always_right.skill.interval_reason == "no_variation"


@pytest.mark.parametrize("theta", [0.5, 0.8, 0.95])
def test_the_score_interval_of_an_area_covers(theta):
    """Two normal distributions at the distance that gives the area."""
    shift, seeded, covered = 2**0.5 * scipy_stats.norm.ppf(theta), np.random.default_rng(1), 0
    for _ in range(600):
        right, wrong = seeded.normal(shift, 1, 40), seeded.normal(0, 1, 15)
        area = np.mean(right[:, None] > wrong)
        interval = auroc_score_interval(float(area), 40, 15)
        covered += interval.low <= theta <= interval.high
        assert interval.low <= area <= interval.high

    assert 0.92 <= covered / 600 <= 0.985
