import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.planted_truth.worlds.answers import block_design
from analysis.stats import (
    Votes,
    alt_test,
    annotator_blocks,
    block_difference,
    human_advantage,
    leave_one_out,
    pooled_replacement_test,
    two_way_variance,
)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_counts_are_those_of_taking_each_annotator_out_by_hand(seed):
    rng = np.random.default_rng(seed)
    labels, model = rng.integers(-1, 3, (20, 4)), rng.integers(-1, 3, 20)

    result = leave_one_out(Votes.from_matrix(labels, n_options=3), model)

    for entry in result.annotators:
        b = c = n = ties = 0
        for i in range(20):
            own = labels[i, entry.annotator]
            others = np.delete(labels[i], entry.annotator)
            counts = np.bincount(others[others >= 0], minlength=3)
            if own < 0 or model[i] < 0 or counts.sum() == 0:
                continue
            if (counts == counts.max()).sum() > 1:
                ties += 1
                continue
            winner, n = counts.argmax(), n + 1
            b += model[i] == winner != own
            c += own == winner != model[i]
        assert (entry.pairs.b, entry.pairs.c, entry.pairs.n, entry.n_ties) == (b, c, n, ties)
    assert result.n == sum(entry.pairs.n for entry in result.annotators)
    assert result.n_ties == sum(entry.n_ties for entry in result.annotators)


def test_a_model_that_copies_an_annotator_does_as_well_as_that_annotator():
    labels = np.random.default_rng(1).integers(0, 2, (60, 3))

    result = leave_one_out(Votes.from_matrix(labels), labels[:, 1])

    assert result.annotators[1].difference.value == 0
    assert result.annotators[1].pairs.b == result.annotators[1].pairs.c == 0


def test_two_people_who_disagree_leave_ties_alone():
    result = leave_one_out(Votes.from_matrix([[0, 0, 1]]), [0])

    # Without the third the others agree; without one of the first two they tie.
    assert (result.n, result.n_ties) == (1, 2)
    assert result.annotators[0].difference.reason == "tie"
    assert (result.model_agreement, result.human_agreement) == (1.0, 0.0)


def test_without_usable_items_there_is_no_difference():
    alone = leave_one_out(Votes.from_matrix([[0, -1], [-1, 1]]), [0, 1])

    assert (alone.difference.value, alone.difference.reason) == (None, "no_pairs")
    assert alone.annotators == ()


def trios(seed, model_accuracy=0.62, human_accuracy=0.6):
    rng = np.random.default_rng(seed)
    item, annotator = block_design()
    truth = rng.integers(0, 2, 300)
    right = rng.random(item.size) < human_accuracy
    votes = Votes.from_long(item, annotator, np.where(right, truth[item], 1 - truth[item]))
    return votes, np.where(rng.random(300) < model_accuracy, truth, 1 - truth)


def test_blocks_of_annotators_are_the_clusters_where_there_are_enough():
    votes, model = trios(1)

    result = pooled_replacement_test(votes, model, epsilon=0.2)

    advantage, _ = human_advantage(votes, model)
    blocks = annotator_blocks(votes)[votes.item]
    expected = block_difference(advantage, blocks)
    assert result.advantage.interval == expected.interval
    assert result.advantage.interval.method == "block t"
    assert result.n == 900


def test_few_blocks_fall_back_to_two_way_clusters():
    labels = np.random.default_rng(2).integers(0, 2, (60, 4))
    votes, model = Votes.from_matrix(labels), labels[:, 0]

    result = pooled_replacement_test(votes, model, epsilon=0.2)

    advantage, _ = human_advantage(votes, model)
    variance = two_way_variance(advantage, votes.item, votes.annotator).variance
    interval = result.advantage.interval
    assert interval.method == "two-way t"
    assert interval.high - interval.low == pytest.approx(2 * 3.182446 * variance**0.5, rel=1e-5)


def test_the_pooled_test_passes_where_the_test_per_annotator_cannot():
    votes, model = trios(3, model_accuracy=0.75)

    assert pooled_replacement_test(votes, model, epsilon=0.2).replaceable is True
    assert alt_test(votes, model, epsilon=0.1).passed is False


def test_without_spread_or_pairs_there_is_no_p_value():
    votes = Votes.from_matrix([[0, 0, 0]] * 40)

    same = pooled_replacement_test(votes, [0] * 40, epsilon=0.1)
    nothing = pooled_replacement_test(votes, [-1] * 40, epsilon=0.1)

    assert (same.p, same.replaceable) == (None, None)
    assert same.advantage.interval_reason == "no_variation"
    assert nothing.advantage.reason == "no_pairs"


def test_numbers_out_of_range_are_refused():
    votes = Votes.from_matrix([[0, 0]] * 3)
    with pytest.raises(ValueError, match="epsilon"):
        pooled_replacement_test(votes, [0] * 3, epsilon=-0.1)
    with pytest.raises(ValueError, match="alpha"):
        pooled_replacement_test(votes, [0] * 3, epsilon=0.1, alpha=0)


@pytest.mark.slow
def test_the_pooled_test_keeps_its_level_when_model_and_people_are_alike():
    """Null on the edge: the model is one more person, and nothing is granted."""
    rejected = sum(
        pooled_replacement_test(*trios(seed, 0.6, 0.6), epsilon=0.0).p < 0.05 for seed in range(400)
    )

    assert rejected / 400 == pytest.approx(0.05, abs=0.033)
