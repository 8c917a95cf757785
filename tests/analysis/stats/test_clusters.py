import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from analysis.stats import (
    Votes,
    annotator_blocks,
    block_interval,
    majority_proportion,
    shared_annotator_interval,
    wilson_interval,
    wilson_proportion,
)
from tests.analysis.stats.reference import block_design, random_votes, shuffled, spread_design


def votes_of(design):
    item, annotator = design
    return Votes.from_long(item, annotator, np.zeros(item.size, dtype=int))


def test_blocks_are_the_groups_that_share_annotators():
    item, annotator = block_design()
    votes = Votes.from_long(item, annotator, np.zeros(900, dtype=int), n_items=301)
    chained = Votes.from_long(*spread_design(), np.zeros(900, dtype=int))

    blocks = annotator_blocks(votes)

    assert blocks[:300].tolist() == np.repeat(np.arange(10), 30).tolist()
    assert blocks[300] == -1
    assert set(annotator_blocks(chained).tolist()) == {0}


def test_the_block_interval_with_equal_blocks_is_the_t_interval_of_the_block_means():
    means = np.random.default_rng(1).random(10)
    values = np.repeat(means, 7)

    interval = block_interval(values, np.repeat(np.arange(10), 7))

    half = t.ppf(0.975, 9) * means.std(ddof=1) / 10**0.5
    assert interval.low == pytest.approx(means.mean() - half)
    assert interval.high == pytest.approx(means.mean() + half)
    assert interval.method == "block t(9)"


def test_seven_blocks_are_too_few_for_a_t_interval():
    assert block_interval(np.arange(70) % 3 > 0, np.repeat(np.arange(7), 10)) is None


def test_blocks_without_any_difference_do_not_give_an_interval_of_width_zero():
    votes = votes_of(block_design())
    right = np.ones(300, dtype=bool)

    cell = majority_proportion(right, votes, np.arange(300), annotator_blocks(votes))

    z = t.ppf(0.975, 9)
    assert cell.interval.high == 1
    assert cell.interval.low == pytest.approx(1 / (1 + z * z / 10))


@given(st.integers(0, 2**32 - 1))
def test_links_by_shared_annotators_follow_the_definition_written_out(seed):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng, n_items=25, n_annotators=20, answered=0.1)
    item = np.flatnonzero(votes.counts().sum(axis=1))
    right = rng.random(item.size) < 0.6

    interval = shared_annotator_interval(right, votes, item)

    n = item.size
    people = [set(votes.annotator[votes.item == i]) for i in item]
    shared = np.array([[float(bool(a & b)) for b in people] for a in people])
    incidence = np.array([[float(j in a) for j in sorted(set.union(*people))] for a in people])
    centring = np.eye(n) - 1 / n
    k = incidence.T @ centring @ shared @ centring @ incidence
    degrees = np.trace(k) ** 2 / (k @ k).trace()
    e, p = right - right.mean(), right.mean()
    variance = max(e @ shared @ e / n**2 / (1 - shared.mean()), (e @ e) / n / (n - 1))
    if degrees < 4:
        assert interval is None
        return
    n_eff = p * (1 - p) / variance if variance > 1e-18 else incidence.shape[1]
    z = t.ppf(0.975, degrees)
    centre = (p + z * z / 2 / n_eff) / (1 + z * z / n_eff)
    half = z / (1 + z * z / n_eff) * np.sqrt(p * (1 - p) / n_eff + z * z / 4 / n_eff**2)
    assert interval.low == pytest.approx(centre - half, abs=1e-9)
    assert interval.high == pytest.approx(centre + half, abs=1e-9)


def test_equal_blocks_give_the_same_degrees_of_freedom_and_nearly_the_block_interval():
    votes = votes_of(block_design())
    by_block = np.linspace(0.4, 0.9, 10)
    right = np.random.default_rng(2).random(300) < np.repeat(by_block, 30)

    shared = shared_annotator_interval(right, votes, np.arange(300))
    block = block_interval(right, annotator_blocks(votes))

    assert block.method == "block t(9)"
    # One interval is Wilson's and lies closer to 1/2, but both are as wide.
    assert shared.high - shared.low == pytest.approx(block.high - block.low, rel=0.06)
    assert shared.low == pytest.approx(block.low, abs=0.03)


def test_codes_and_order_do_not_change_the_interval_of_shared_annotators():
    rng = np.random.default_rng(3)
    votes = votes_of(spread_design())
    right = rng.random(300) < 0.6
    other, new_code = shuffled(votes, rng)

    one = shared_annotator_interval(right, votes, np.arange(300))
    two = shared_annotator_interval(right, other, new_code)

    assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-12)


def test_three_annotators_who_answer_everything_stand_for_themselves_alone():
    votes = Votes.from_matrix(np.zeros((50, 3), dtype=int))
    right = np.arange(50) % 3 > 0

    cell = majority_proportion(right, votes, np.arange(50), annotator_blocks(votes))

    assert shared_annotator_interval(right, votes, np.arange(50)) is None
    expected = wilson_interval(cell.correct, cell.n)
    assert (cell.interval.low, cell.interval.high) == (expected.low, expected.high)
    assert cell.interval.note == "conditional on these annotators"


def test_without_items_there_is_no_share():
    votes = votes_of(block_design())

    assert majority_proportion([], votes, [], []).reason == "empty_group"
    assert shared_annotator_interval([], votes, []) is None
    assert majority_proportion([True], votes, [4], [0]).interval.low == pytest.approx(
        wilson_proportion([True]).interval.low
    )
