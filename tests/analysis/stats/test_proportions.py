import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import (
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
