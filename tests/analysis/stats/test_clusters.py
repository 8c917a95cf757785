import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import t

from analysis.stats import (
    Votes,
    annotator_blocks,
    block_interval,
    majority_proportion,
    shared_annotator_interval,
    wilson_interval,
)
from tests.analysis.stats.reference import block_design, random_votes, spread_design


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


def test_three_annotators_who_answer_everything_stand_for_themselves_alone():
    votes = Votes.from_matrix(np.zeros((50, 3), dtype=int))
    right = np.arange(50) % 3 > 0

    cell = majority_proportion(right, votes, np.arange(50), annotator_blocks(votes))

    assert shared_annotator_interval(right, votes, np.arange(50)) is None
    expected = wilson_interval(cell.correct, cell.n)
    assert (cell.interval.low, cell.interval.high) == (expected.low, expected.high)
    assert cell.interval.note == "conditional on these annotators"


@pytest.mark.parametrize("n", [40, 30_000])
def test_blocks_are_the_connected_components_also_of_a_long_chain(n):
    rng = np.random.default_rng(n)
    items, annotators = rng.permutation(n + 1), rng.permutation(n)
    item, annotator = np.concatenate([items[:-1], items[1:]]), np.concatenate([annotators] * 2)
    kept = rng.random(item.size) < 1 - 2 / n
    votes = Votes.from_long(
        item[kept],
        annotator[kept],
        np.zeros(kept.sum(), dtype=int),
        n_options=2,
        n_items=n + 1,
        n_annotators=n,
    )

    blocks = annotator_blocks(votes)

    ends = (np.ones(votes.n), (votes.item, votes.n_items + votes.annotator))
    graph = sparse.coo_array(ends, shape=(2 * n + 1, 2 * n + 1))
    component = sparse.csgraph.connected_components(graph, directed=False)[1][: n + 1]
    voted = np.bincount(votes.item, minlength=n + 1) > 0
    assert (blocks[~voted] == -1).all()
    pairs = set(zip(blocks[voted].tolist(), component[voted].tolist(), strict=True))
    assert len(pairs) == len(set(blocks[voted])) == len(set(component[voted]))
