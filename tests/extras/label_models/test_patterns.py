import numpy as np
import pytest

from analysis.stats.core.votes import Votes
from extras.label_models.stats.dawid_skene import dawid_skene, one_coin
from extras.label_models.stats.fitting import Patterns
from extras.label_models.stats.label_models import mace
from tests.analysis.stats.reference import random_votes


def repeated(votes, times):
    """The same votes on as many copies of every item."""
    item = np.concatenate([votes.item + k * votes.n_items for k in range(times)])
    return Votes.from_long(
        item,
        np.tile(votes.annotator, times),
        np.tile(votes.choice, times),
        n_options=votes.n_options,
        n_items=votes.n_items * times,
        n_annotators=votes.n_annotators,
    )


def test_items_have_one_pattern_if_the_same_people_chose_the_same():
    labels = [[0, 1, -1], [0, 1, -1], [1, 0, -1], [0, -1, 1], [-1, -1, -1], [0, 1, -1], [0, -1, -1]]

    patterns = Patterns.of(Votes.from_matrix(labels))

    first, other = patterns.of_item[0], patterns.of_item[2]
    assert patterns.of_item[[1, 5]].tolist() == [first, first]
    assert patterns.of_item[4] == -1
    assert len({first, other, patterns.of_item[3], patterns.of_item[6]}) == 4
    assert patterns.n_items[first] == 3
    assert patterns.n_items.sum() == 6
    assert patterns.shares[:, first].tolist() == [0.5, 0.5]


def test_the_order_of_rows_and_repeated_readings_are_seen():
    votes = Votes.from_long([0, 0, 1, 1, 2, 2, 2], [0, 1, 1, 0, 0, 1, 1], [1, 0, 0, 1, 1, 0, 0])

    patterns = Patterns.of(votes)

    assert patterns.of_item[0] == patterns.of_item[1] != patterns.of_item[2]
    assert patterns.given[0].toarray()[patterns.of_item[2]].tolist() == [0, 2]


@pytest.mark.parametrize("n_options", [2, 3])
def test_sums_are_those_of_single_votes(n_options):
    rng = np.random.default_rng(4)
    votes = repeated(random_votes(rng, n_items=30, n_annotators=4, n_options=n_options), 3)
    patterns = Patterns.of(votes)
    gain = rng.normal(size=(n_options, votes.n_annotators, n_options))
    posterior = rng.dirichlet(np.ones(n_options), patterns.n_items.size).T
    joint = np.zeros((votes.n_items, n_options))
    expected = np.zeros((votes.n_annotators, n_options, n_options))
    for i, j, c in zip(votes.item, votes.annotator, votes.choice, strict=True):
        joint[i] += gain[:, j, c]
        expected[j, :, c] += posterior[:, patterns.of_item[i]]
    otherwise = np.zeros(n_options)
    right = np.einsum("jcc->jc", expected)

    np.testing.assert_allclose(
        patterns.by_item(patterns.log_joint(gain), otherwise), joint, atol=1e-12
    )
    np.testing.assert_allclose(patterns.expected(posterior), expected, atol=1e-12)
    np.testing.assert_allclose(patterns.expected_right(posterior), right, atol=1e-12)


@pytest.mark.parametrize("model", [dawid_skene, one_coin, mace])
def test_copies_of_all_items_get_the_answers_of_the_item(model):
    votes = repeated(random_votes(np.random.default_rng(6), n_items=40), 4)

    fitted = model(votes)

    assert fitted.converged
    for copy in fitted.posterior.reshape(4, 40, 2):
        np.testing.assert_array_equal(copy, fitted.posterior[:40])
