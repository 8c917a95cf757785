"""Where nothing varies: exact and score intervals, or none with a reason."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from analysis.stats import (
    brennan_prediger,
    gwet_ac,
    krippendorff_alpha,
    percent_agreement,
    percentile_interval,
)
from analysis.stats.core.bootstrap import resampled_estimate
from analysis.stats.core.proportions import constant_interval


def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("n", [1, 5, 60])
def test_all_right_has_the_one_sided_interval_of_clopper_and_pearson(n):
    expected = scipy_stats.binomtest(n, n).proportion_ci(0.90, method="exact").low

    assert constant_interval(1.0, n).low == pytest.approx(expected)
    assert constant_interval(0.0, n).high == pytest.approx(1 - expected)


ALL_TIES, ALL_AGREE = [[1, 1]] * 40, [[2, 0]] * 20 + [[0, 2]] * 20


@pytest.mark.parametrize("counts", [ALL_TIES, ALL_AGREE])
def test_agreement_that_never_varies_has_an_exact_interval_and_alpha_none(counts):
    share = percent_agreement(counts, rng=rng())
    alpha = krippendorff_alpha(counts, rng=rng())
    pairs = krippendorff_alpha(counts, rng=rng(), resample="pairs")

    expected = constant_interval(share.value, 40)
    assert (share.interval.low, share.interval.high) == (expected.low, expected.high)
    assert (alpha.interval, alpha.interval_reason) == (None, "no_variation")
    assert (pairs.interval, pairs.interval_reason) == (None, "no_variation")
    for coefficient in (brennan_prediger, gwet_ac):
        found = coefficient(counts, rng=rng())
        assert found.interval.low <= found.value <= found.interval.high
        assert found.interval.high - found.interval.low > 0.05
    # With two options a coefficient of Brennan and Prediger is twice the agreement less one.
    twice = brennan_prediger(counts, rng=rng()).interval
    assert twice.low == pytest.approx(2 * expected.low - 1)
    assert twice.high == pytest.approx(2 * expected.high - 1)


def test_resamples_that_leave_out_their_estimate_give_no_interval():
    draws = np.linspace(0.3, 0.4, 101)
    made = {"level": 0.95, "method": "item bootstrap", "n_items": 30, "rng": rng()}

    found = resampled_estimate(0.28, draws, **made)

    assert (found.value, found.interval, found.interval_reason) == (0.28, None, "biased")
    assert percentile_interval(draws, value=0.28, **made) is None
    assert percentile_interval(np.full(101, 0.3), **made) is None
    assert resampled_estimate(0.35, draws, **made).interval.high == pytest.approx(0.3975)
    scarce = np.where(np.arange(101) < 50, np.nan, draws)
    assert resampled_estimate(0.35, scarce, undefined="empty_group", **made).interval_reason == (
        "empty_group"
    )
