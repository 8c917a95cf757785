import numpy as np
import pytest
from scipy import stats

from analysis.stats import Votes
from extras.certainty.stats import (
    centred_certainty,
    certainty_icc,
)
from tests.analysis.stats.reference import random_votes, vector

CASE = vector("certainty_3x60")


def certainties(table):
    table = np.asarray(table, dtype=float)
    return Votes.from_matrix(np.zeros(table.shape, dtype=int), table)


def test_the_reference_icc_on_complete_rows():
    table = np.array(CASE["data"], dtype=float).T
    complete = table[~np.isnan(table).any(axis=1)]

    result = certainty_icc(certainties(complete))

    assert result.value == pytest.approx(CASE["icc"]["ICC(1,1)"], abs=1e-6)
    assert result.interval.low < result.value < result.interval.high


def test_estimate_and_limits_follow_from_scipys_analysis_of_variance():
    rng = np.random.default_rng(1)
    table = np.clip(rng.normal(60, 12, (25, 1)) + rng.normal(0, 9, (25, 4)), 1, 100)
    f = stats.f_oneway(*table).statistic

    result = certainty_icc(certainties(table), level=0.9)

    assert result.value == pytest.approx((f - 1) / (f + 3))
    limits = [f / stats.f(24, 75).ppf(q) for q in (0.95, 0.05)]
    expected = [(x - 1) / (x + 3) for x in limits]
    assert (result.interval.low, result.interval.high) == pytest.approx(expected)
    assert result.interval.note is None


def test_taking_peoples_level_away_shows_that_they_are_sure_of_the_same_items():
    ease = np.linspace(-15, 15, 40)[:, None]
    level = np.array([30.0, 50.0, 70.0])
    votes = certainties(ease + level)

    raw, centred = certainty_icc(votes), certainty_icc(votes, centred=True)

    assert raw.value < 0.1
    assert centred.value == pytest.approx(1)
    assert centred.interval_reason == "no_variation"


def test_centred_certainties_have_mean_zero_for_everybody_and_stay_missing():
    votes = random_votes(np.random.default_rng(3))

    centred = centred_certainty(votes)

    np.testing.assert_array_equal(np.isnan(centred), np.isnan(votes.certainty))
    for annotator in range(votes.n_annotators):
        assert np.nanmean(centred[votes.annotator == annotator]) == pytest.approx(0, abs=1e-9)


def test_too_little_or_equal_certainties_have_no_icc():
    assert certainty_icc(certainties([[50, 60], [70, np.nan]])).reason == "too_few_items"
    assert certainty_icc(certainties([[50, 50], [50, 50]])).reason == "no_variation"
    assert certainty_icc(Votes.from_long([], [], [])).reason == "too_few_items"
