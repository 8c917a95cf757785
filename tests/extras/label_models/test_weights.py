import numpy as np
import pytest

from analysis.stats import Votes
from extras.label_models.stats import certainty_weights, log_odds_weights, weighted_vote
from tests.analysis.stats.reference import vector
from tests.analysis.stats.test_aggregation import LETTERS, one_item


@pytest.mark.parametrize(
    "case", [c for c in vector("majority_vote")["cases"] if "certainty_weighted_totals" in c]
)
def test_certainty_weights_add_up_to_the_reference_totals(case):
    votes = one_item(case["labels"], case["certainty"])

    weights = certainty_weights(votes)

    totals = {
        letter: round(100 * weights[votes.choice == LETTERS.index(letter)].sum(), 9)
        for letter in case["certainty_weighted_totals"]
    }
    assert totals == case["certainty_weighted_totals"]


def test_weighted_votes_that_differ_by_rounding_alone_are_tied():
    votes = Votes.from_matrix([[0, 0, 0, 1]], [[10, 20, 30, 60]])

    assert weighted_vote(votes).answer.tolist() == [-1]


def test_a_missing_certainty_weighs_as_that_annotators_mean_or_one_half():
    votes = Votes.from_matrix([[0, 1], [0, 1], [0, 1]], [[40, np.nan], [60, np.nan], [np.nan] * 2])

    weights = certainty_weights(votes)

    assert weights.tolist() == [0.4, 0.5, 0.6, 0.5, 0.5, 0.5]


def test_weights_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="`weights` must be 2 finite numbers"):
        weighted_vote(one_item("AB"), [1.0])


def test_log_odds_leave_the_item_itself_out():
    votes = Votes.from_matrix([[0], [0], [0]])

    weights = log_odds_weights(votes, [0, 0, 1])

    # Others of the first item: one right of two; of the last: two right of two.
    assert weights == pytest.approx(np.log([3 / 3, 3 / 3, 4 / 2]))
