import numpy as np
import pytest
from scipy import stats

from analysis.stats.comparison.differences import block_difference, equivalence, paired_difference
from analysis.stats.comparison.paired import PairedCounts, mcnemar
from tests.analysis.stats.reference import vector


def test_paired_difference_has_the_exact_multinomial_spread():
    case = vector("paired_bootstrap")

    result = paired_difference(PairedCounts(b=case["b"], c=case["c"], n=case["n"]))

    assert result.value == pytest.approx(case["delta"], abs=1e-12)
    assert result.se == pytest.approx(case["sd_exact_multinomial"], abs=1e-12)


@pytest.mark.parametrize("case", vector("persona_ablation_pairs").values())
def test_persona_ablations_give_the_reference_difference_interval_and_p_value(case):
    pairs = PairedCounts(b=case["b"], c=case["c"], n=case["n"])

    result = paired_difference(pairs)

    assert result.value == pytest.approx(case["delta"], abs=1e-9)
    assert (result.interval.low, result.interval.high) == pytest.approx(
        case["ci95_tango"], abs=1e-6
    )
    assert mcnemar(pairs).p == pytest.approx(case["mcnemar_exact"], abs=1e-9)


@pytest.mark.parametrize("case", vector("paired_tost")["cases"])
def test_equivalence_gives_the_reference_score_p_value(case):
    pairs = PairedCounts(b=case["b"], c=case["c"], n=case["n"])

    result = equivalence(pairs, margin=case["margin"])

    assert result.p == pytest.approx(case["p_tost_score"], abs=1e-6)
    assert result.interval.level == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("b", "c", "n", "margin", "state"),
    [
        (25, 22, 300, 0.05, "equivalent"),
        (57, 60, 300, 0.05, "inconclusive"),
        (60, 20, 300, 0.05, "different"),
        (150, 90, 3000, 0.05, "different_within_margin"),
    ],
)
def test_the_four_states(b, c, n, margin, state):
    assert equivalence(PairedCounts(b=b, c=c, n=n), margin=margin).state == state


def test_blocks_of_one_size_give_the_t_test_on_block_means():
    rng = np.random.default_rng(5)
    diffs = rng.integers(-1, 2, size=(12, 30)).astype(float)

    result = block_difference(diffs.ravel(), np.repeat(np.arange(12), 30))

    expected = stats.ttest_1samp(diffs.mean(axis=1), 0)
    interval = expected.confidence_interval(0.95)
    assert result.p == pytest.approx(expected.pvalue, rel=1e-10)
    assert (result.interval.low, result.interval.high) == pytest.approx(tuple(interval), rel=1e-10)


def test_items_without_a_difference_are_left_out_and_blocks_may_have_any_code():
    diffs = np.array([1.0, np.nan] * 10)

    result = block_difference(np.append(diffs, 0.0), [*[100 + i for i in range(20)], 7])

    assert result.value == pytest.approx(10 / 11)
    assert result.interval.n_items == 11


def test_fewer_than_eight_blocks_give_the_difference_without_an_interval():
    result = block_difference([1, 0, -1, 1, 0, 1, 1], range(7))

    assert result.value == pytest.approx(3 / 7)
    assert (result.p, result.interval) == (None, None)
    assert result.interval_reason == "too_few_annotators"


def test_blocks_that_do_not_differ_give_no_interval():
    assert block_difference([1, 0] * 8, np.repeat(range(8), 2)).interval_reason == "no_variation"
