import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.stats import Sharing, Votes, general_difference
from analysis.stats.comparison.differences import block_difference, equivalence, paired_difference
from analysis.stats.comparison.paired import PairedCounts, mcnemar, tango_interval
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


def test_no_discordant_item_is_not_equivalence_in_a_small_sample():
    assert equivalence(PairedCounts(b=0, c=0, n=20), margin=0.05).state == "inconclusive"
    assert equivalence(PairedCounts(b=0, c=0, n=200), margin=0.05).state == "equivalent"


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_the_tost_p_value_and_the_narrow_interval_say_the_same(b, c, rest):
    pairs = PairedCounts(b=b, c=c, n=b + c + rest)

    result = equivalence(pairs, margin=0.1)

    inside = -0.1 < result.interval.low and result.interval.high < 0.1
    assert inside == (result.p < 0.05)
    assert (result.interval.low, result.interval.high) == pytest.approx(
        (tango_interval(pairs, 0.9).low, tango_interval(pairs, 0.9).high)
    )


def test_without_items_everything_is_undefined():
    nothing = PairedCounts(b=0, c=0, n=0)

    assert paired_difference(nothing).reason == "empty_group"
    assert equivalence(nothing).reason == "empty_group"
    assert block_difference([], []).reason == "empty_group"
    assert equivalence(nothing).state is None


def test_margin_and_alpha_out_of_range_are_refused():
    pairs = PairedCounts(b=1, c=1, n=10)
    with pytest.raises(ValueError, match="margin"):
        equivalence(pairs, margin=0)
    with pytest.raises(ValueError, match="alpha"):
        equivalence(pairs, alpha=0.5)


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
    assert result.n_blocks == 11


def test_fewer_than_eight_blocks_give_the_difference_without_an_interval():
    result = block_difference([1, 0, -1, 1, 0, 1, 1], range(7))

    assert result.value == pytest.approx(3 / 7)
    assert (result.p, result.interval) == (None, None)
    assert result.interval_reason == "too_few_annotators"


def test_blocks_that_do_not_differ_give_no_interval():
    assert block_difference([1, 0] * 8, np.repeat(range(8), 2)).interval_reason == "no_variation"


def seats_at_random(rng, n_items=300, n_people=30, k=3):
    annotator = np.argsort(rng.random((n_items, n_people)), axis=1)[:, :k].ravel()
    return np.repeat(np.arange(n_items), k), annotator


def test_seats_filled_at_random_get_an_interval_in_general():
    rng = np.random.default_rng(5)
    item, annotator = seats_at_random(rng)
    votes = Votes.from_long(item, annotator, rng.integers(0, 2, item.size))
    diffs = rng.integers(-1, 2, 300).astype(float)
    diffs[7] = np.nan

    result = general_difference(diffs, Sharing.of_items(300, {}, votes))

    assert (result.interval.method, result.n) == ("general t", 299)
    assert result.interval.low < result.value < result.interval.high
    assert (result.p < 0.05) == (result.interval.low > 0 or result.interval.high < 0)


def test_three_people_are_too_few_for_people_in_general():
    votes = Votes.from_matrix(np.zeros((40, 3), dtype=int))

    result = general_difference([1.0, 0, -1, 0] * 10, Sharing.of_items(40, {}, votes))

    assert (result.p, result.interval, result.value) == (None, None, 0.0)
    assert result.interval_reason == "too_few_annotators"


def test_differences_of_other_items_are_refused():
    sharing = Sharing.of_items(2, {}, Votes.from_matrix([[0], [1]]))
    with pytest.raises(ValueError, match="must have shape"):
        general_difference([1.0], sharing)
    with pytest.raises(ValueError, match="margin"):
        general_difference([1.0, 0.0], sharing, margin=0)
