import numpy as np
import pytest

from analysis.stats import (
    Sharing,
    own_preference,
    position_bias,
    position_bias_single_order,
    self_preference,
)
from tests.analysis.stats.reference import vector

CASE = vector("position_bias")


def test_both_orders_give_the_reference_figures():
    expected = CASE["expected"]

    result = position_bias(CASE["order_AB_picks_first"], CASE["order_BA_picks_first"])

    assert result.n == expected["n"]
    assert result.consistency == pytest.approx(expected["consistency"])
    assert (result.primacy, result.recency) == (expected["primacy"], expected["recency"])
    assert result.index == pytest.approx(expected["bias_index"])
    assert result.z == pytest.approx(expected["z"], abs=1e-9)
    assert result.p == pytest.approx(expected["p_exact"], abs=1e-12)


def test_a_judge_without_a_pull_has_no_p_value():
    result = position_bias([1, 0, 1], [0, 1, 0])

    assert result.consistency == 1.0
    assert (result.z, result.p, result.p_reason) == (None, None, "no_discordant")
    assert result.index == 0


def test_without_an_item_in_both_orders_nothing_is_defined():
    result = position_bias([1, -1], [-1, 0])

    assert (result.n, result.consistency, result.reason) == (0, None, "empty_group")


@pytest.mark.parametrize("case", vector("position_bias_single_order_paper_files").values())
def test_the_pull_in_a_single_order_follows_from_the_counts_of_wrong_answers(case):
    """Rebuilds the answers of each released file from its counts; the rest is filled with
    right answers, and with answers to items whose truth is a tie."""
    n_truth, n_first = _truth_counts(case)
    first = [0] * (n_first - case["n_B_when_A"]) + [1] * case["n_B_when_A"]
    second = [0] * case["n_A_when_B"] + [1] * (n_truth - n_first - case["n_A_when_B"])
    said_first = round(case["share_A"] * case["n"])
    tie_first = said_first - first.count(0) - second.count(0)
    ties = [0] * tie_first + [1] * (case["n"] - n_truth - tie_first)
    answer = first + second + ties + [-1, -1]
    truth = [0] * len(first) + [1] * len(second) + [-1] * len(ties) + [0, 1]

    result = position_bias_single_order(answer, truth)

    assert result.n == case["n"]
    assert result.share_first == pytest.approx(case["share_A"], abs=1e-12)
    assert result.truth_share_first == pytest.approx(case["truth_share_A"], abs=1e-12)
    assert result.p == pytest.approx(case["mcnemar_marginal_p"], rel=1e-6)


def _truth_counts(case):
    """Items with a sided truth and with the first side right, from the share of the latter."""
    for n in range(case["n"], 0, -1):
        first = case["truth_share_A"] * n
        if abs(first - round(first)) < 1e-9:
            return n, round(first)
    raise AssertionError("the share belongs to no count")


@pytest.mark.parametrize("case", vector("dbg")["cases"])
def test_self_preference_is_the_difference_of_the_two_shares(case):
    result = self_preference(case["judge_own"], case["gold_own"])

    assert result.value == pytest.approx(case["dbg"])
    assert result.interval.low <= result.value <= result.interval.high


def test_the_parts_of_own_preference_are_counts_by_hand():
    judge, gold = [1, 1, 0, 0, 1, 1, -1, 0], [1, 1, 1, 0, 0, 0, 1, -1]
    sharing = Sharing.of_items(8, {"persona": np.arange(8)})

    found = own_preference(judge, gold, sharing)

    assert (found.n, found.chosen.correct, found.gold.correct) == (6, 4, 3)
    assert (found.missed.correct, found.missed.n) == (1, 3)
    assert (found.taken.correct, found.taken.n) == (2, 3)
    assert found.dbg.value == pytest.approx(1 / 6)
    assert found.bias.value == pytest.approx(1 / 3)
    s, e, f = 3 / 6, 1 / 3, 2 / 3
    assert found.dbg.value == pytest.approx((1 - s) * f - s * e)


def test_own_preference_without_pairs_or_of_one_kind_says_why():
    sharing = Sharing.of_items(20, {"persona": np.arange(20)})

    nothing = own_preference([-1] * 20, [1] * 20, sharing)
    only_own = own_preference([1, 0] * 10, [1] * 20, sharing)

    assert (nothing.n, nothing.dbg.value, nothing.dbg.reason) == (0, None, "empty_group")
    assert (only_own.bias.value, only_own.bias.reason) == (None, "empty_group")
    assert only_own.dbg.value == -0.5
