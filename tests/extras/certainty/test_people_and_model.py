import numpy as np
import pytest
from scipy import stats

from extras.certainty.stats import compare_certainty, compare_certainty_distributions
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of
from tests.analysis.stats.reference import vector

CASE = vector("certainty_human_llm_150")
EXPECTED = CASE["expected"]


def test_item_by_item_figures_are_the_reference_ones():
    result = compare_certainty(CASE["human"], CASE["llm"])

    assert result.n == 150
    assert result.pearson == pytest.approx(EXPECTED["pearson"], abs=1e-12)
    assert result.spearman == pytest.approx(EXPECTED["spearman"], abs=1e-12)
    assert result.kendall == pytest.approx(EXPECTED["kendall_b"], abs=1e-12)
    assert result.concordance == pytest.approx(EXPECTED["ccc_lin"], abs=1e-12)
    assert result.mean_difference == pytest.approx(EXPECTED["mean_diff"], abs=1e-12)
    assert result.wilcoxon_p == pytest.approx(EXPECTED["wilcoxon_p"], abs=1e-12)


def test_distances_of_the_distributions_are_the_reference_ones():
    result = compare_certainty_distributions(CASE["human"], CASE["llm"])

    assert result.ks == pytest.approx(EXPECTED["ks"], abs=1e-12)
    assert result.ks_p == pytest.approx(EXPECTED["ks_p_auto"], rel=1e-9)
    assert result.wasserstein == pytest.approx(EXPECTED["wasserstein"], abs=1e-9)


def test_a_side_that_always_says_the_same_has_no_correlation_but_a_mean_difference():
    result = compare_certainty([80, 80, 80], [70, 90, 60])

    assert (result.pearson, result.spearman, result.kendall, result.concordance) == (None,) * 4
    assert result.correlation_reason == "no_variation"
    assert result.mean_difference == pytest.approx(-20 / 3)
    assert result.wilcoxon_p is not None


def test_equal_certainties_have_no_signed_rank_test():
    result = compare_certainty([70, 80, 90], [70, 80, 90])

    assert (result.wilcoxon_p, result.wilcoxon_reason) == (None, "no_variation")
    assert result.concordance == pytest.approx(1)


def test_items_that_miss_a_side_are_left_out():
    result = compare_certainty([70, np.nan, 80, 90], [60, 50, np.nan, 70])

    assert result.n == 2
    assert result.reason == "too_few_items"
    assert result.pearson is None


def test_distributions_may_have_different_lengths_and_need_three_of_each():
    result = compare_certainty_distributions([50, 60, 70, np.nan], [60.0] * 40)

    assert (result.n_human, result.n_model) == (3, 40)
    assert result.human_sd == pytest.approx(10)
    assert result.ks == pytest.approx(1 / 3)
    assert compare_certainty_distributions([50, 60], [60] * 9).reason == "too_few_items"


@pytest.mark.nightly
@pytest.mark.sampled(keep=5)
@pytest.mark.parametrize("n", range(3, 16))
def test_wilcoxon_is_scipys_for_few_items_with_ties_and_equal_pairs(n):
    rng = np.random.default_rng(n)
    human = rng.integers(20, 80, n)
    model = human + rng.choice([-10, -5, 0, 5, 5, 20], n)
    model[0] = human[0] + 5

    expected = stats.wilcoxon(model - human).pvalue

    assert compare_certainty(human, model).wilcoxon_p == pytest.approx(expected, abs=1e-14)


@pytest.mark.nightly
@pytest.mark.django_db
def test_the_report_has_the_numbers_that_scipy_has():
    report = report_of(random_study(4, n_items=60, n_raters=12))

    certainty = report["comparison"][0]["certainty"]
    pairs = [
        (one["people"]["certainty"], one["judges"][0]["certainty"])
        for one in report["items"]
        if None not in (one["people"]["certainty"], one["judges"][0]["certainty"])
    ]
    assert certainty["items"] == len(pairs)
    assert certainty["pearson"] == pytest.approx(stats.pearsonr(*zip(*pairs, strict=True))[0])
    assert certainty["wasserstein"] > 0
