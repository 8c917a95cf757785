import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import (
    item_clustered_proportion,
    pigeonhole_bootstrap,
    two_way_proportion,
    two_way_variance,
    wilson_interval,
    wilson_proportion,
)
from tests.analysis.stats.reference import block_design, random_votes, vector


@pytest.mark.parametrize("cell", vector("binomial_intervals")["expected"])
def test_wilson_matches_the_reference(cell):
    correct, n = map(int, cell.split("/"))
    low, high = vector("binomial_intervals")["expected"][cell]["wilson"]

    interval = wilson_interval(correct, n)

    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-7)
    assert (interval.method, interval.level, interval.n_items) == ("wilson", 0.95, n)


def test_wilson_matches_statsmodels_at_other_levels():
    from statsmodels.stats.proportion import proportion_confint

    for correct, n, level in [(0, 1, 0.9), (3, 7, 0.99), (7, 7, 0.5), (500, 1001, 0.68)]:
        interval = wilson_interval(correct, n, level=level)

        expected = proportion_confint(correct, n, 1 - level, "wilson")
        assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-12)


def test_wilson_has_no_interval_without_answers_and_refuses_impossible_counts():
    assert wilson_interval(0, 0) is None
    assert wilson_proportion([]).reason == "empty_group"
    with pytest.raises(ValueError, match=r"`correct` must lie in 0\.\.2, got 3"):
        wilson_interval(3, 2)
    with pytest.raises(ValueError, match="`level` must lie between 0 and 1, got 95"):
        wilson_interval(1, 2, level=95)


def test_two_way_variance_matches_the_reference():
    case = vector("twoway_accuracy")
    item, annotator = block_design()

    v = two_way_variance(case["correct"], item, annotator)

    expected = case["expected"]
    assert v.variance**0.5 == pytest.approx(expected["cgm_se_with_factor"], abs=1e-6)
    assert v.cell**0.5 == pytest.approx(expected["se_naive"], abs=1e-6)
    without_factor = (v.item * 299 / 300, v.annotator * 29 / 30)
    assert without_factor[0] ** 0.5 == pytest.approx(expected["se_item_cluster"], abs=1e-6)
    assert without_factor[1] ** 0.5 == pytest.approx(expected["se_annotator_cluster"], abs=1e-6)
    assert sum(without_factor) - v.cell == pytest.approx(expected["se_CGM_two_way"] ** 2, abs=1e-8)


def test_two_way_variance_matches_statsmodels_with_repeated_readings():
    import statsmodels.api as sm
    from statsmodels.stats.sandwich_covariance import cov_cluster

    rng = np.random.default_rng(4)
    item, annotator = rng.integers(0, 12, 90), rng.integers(0, 7, 90)
    y = rng.integers(0, 2, 90)

    v = two_way_variance(y, item, annotator)

    fit = sm.OLS(y.astype(float), np.ones(90)).fit()
    cell = item * 7 + annotator
    for ours, groups, factor in [
        (v.item, item, 12 / 11),
        (v.annotator, annotator, 7 / 6),
        (v.cell, np.unique(cell, return_inverse=True)[1], 1),
    ]:
        theirs = cov_cluster(fit, groups, use_correction=False).item() * factor
        assert ours == pytest.approx(theirs, rel=1e-10)


@given(st.integers(0, 2**32 - 1))
def test_the_two_way_interval_follows_its_definition_and_no_order_changes_it(seed):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng, n_items=9, n_annotators=4, answered=0.7)
    right = rng.random(votes.n) < 0.7
    if votes.n == 0 or np.unique(votes.item).size < 2 or np.unique(votes.annotator).size < 2:
        return

    cell = two_way_proportion(right, votes.item, votes.annotator)

    from scipy.stats import t

    n, p = votes.n, right.mean()
    e = right - p
    sums = {
        "item": [e[votes.item == g].sum() for g in np.unique(votes.item)],
        "annotator": [e[votes.annotator == g].sum() for g in np.unique(votes.annotator)],
    }
    v_i, v_a = (
        len(x) / (len(x) - 1) * sum(s * s for s in x) / n**2
        for x in (sums["item"], sums["annotator"])
    )
    v = max(v_i + v_a - (e @ e) / n**2, v_i, v_a)
    g_i, g_a = len(sums["item"]), len(sums["annotator"])
    n_eff = min(n, p * (1 - p) / v) if v > 1e-18 else min(n, g_a)
    z = t.ppf(0.975, min(g_i, g_a) - 1)
    centre = (p + z * z / 2 / n_eff) / (1 + z * z / n_eff)
    half = z / (1 + z * z / n_eff) * np.sqrt(p * (1 - p) / n_eff + z * z / 4 / n_eff**2)
    assert cell.interval.low == pytest.approx(centre - half, abs=1e-9)
    assert cell.interval.high == pytest.approx(centre + half, abs=1e-9)
    assert 0 <= cell.interval.low <= cell.value <= cell.interval.high <= 1
    order = rng.permutation(n)
    moved = two_way_proportion(right[order], 100 - votes.item[order], votes.annotator[order] * 7)
    assert moved.interval.low == pytest.approx(cell.interval.low, abs=1e-12)


def test_the_interval_of_people_is_wider_than_wilsons_where_answers_are_alike():
    case = vector("twoway_accuracy")
    item, annotator = block_design()

    robust = two_way_proportion(case["correct"], item, annotator)
    naive = wilson_proportion(case["correct"])

    assert robust.value == naive.value == pytest.approx(case["expected"]["acc"])
    assert robust.interval.high - robust.interval.low > 1.25 * (
        naive.interval.high - naive.interval.low
    )
    assert robust.interval.low == pytest.approx(case["expected"]["cgm_ci95_t"][0], abs=0.003)
    assert robust.interval.high == pytest.approx(case["expected"]["cgm_ci95_t"][1], abs=0.003)


def test_unanimous_answers_count_as_one_per_annotator():
    item, annotator = block_design(30, 6)

    cell = two_way_proportion(np.ones(90, dtype=bool), item, annotator)

    from scipy.stats import t

    z = t.ppf(0.975, 5)
    assert cell.value == cell.interval.high == 1
    assert cell.interval.low == pytest.approx(1 / (1 + z * z / 6))
    assert cell.interval.note == "fewer than 10 clusters"


@pytest.mark.parametrize(
    ("item", "annotator", "reason"),
    [([0, 0], [0, 1], "too_few_items"), ([0, 1], [3, 3], "too_few_annotators")],
)
def test_one_cluster_gives_a_share_without_an_interval(item, annotator, reason):
    cell = two_way_proportion([True, False], item, annotator)

    assert (cell.value, cell.interval, cell.interval_reason) == (0.5, None, reason)


def test_repeated_rows_of_an_item_add_nothing_when_they_agree():
    right = np.random.default_rng(8).random(200) < 0.7

    once = item_clustered_proportion(right, np.arange(200))
    thrice = item_clustered_proportion(np.repeat(right, 3), np.repeat(np.arange(200), 3))

    assert thrice.n == 600
    assert thrice.interval.low == pytest.approx(once.interval.low, abs=1e-9)
    assert once.interval.low == pytest.approx(wilson_proportion(right).interval.low, abs=2e-3)


def test_the_pigeonhole_bootstrap_matches_the_reference_spread():
    case = vector("twoway_accuracy")
    right = np.array(case["correct"])

    estimate = pigeonhole_bootstrap(
        lambda weights: weights @ right / weights.sum(axis=1),
        *block_design(),
        n_draws=4000,
        rng=np.random.default_rng(20),
    )

    low, high = case["expected"]["boot_twoway_ci"]
    assert estimate.value == pytest.approx(case["expected"]["acc"])
    assert estimate.interval.low == pytest.approx(low, abs=0.005)
    assert estimate.interval.high == pytest.approx(high, abs=0.005)
    assert (estimate.interval.seed, estimate.interval.n_draws) == (20, 4000)


def test_the_pigeonhole_bootstrap_gives_no_interval_where_most_resamples_lack_the_group():
    item, annotator = block_design(30, 6)
    high = np.zeros(90)
    high[0] = 1

    def accuracy_of_the_one(weights):
        hits = weights @ high
        return np.divide(hits, hits, out=np.full(hits.shape, np.nan), where=hits > 0)

    estimate = pigeonhole_bootstrap(
        accuracy_of_the_one, item, annotator, rng=np.random.default_rng(0)
    )

    assert (estimate.value, estimate.interval) == (1.0, None)
    assert estimate.interval_reason == "no_variation"
