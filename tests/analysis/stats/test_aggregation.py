import numpy as np
import pytest

from analysis.stats import (
    Votes,
    majority_vote,
    tie_credit_accuracy,
    unanimity,
)
from tests.analysis.stats.reference import random_votes, vector

LETTERS = "ABC"


def one_item(labels, certainty=None):
    """Votes of one item from letters; None is a missing certainty."""
    choice = [LETTERS.index(label) for label in labels]
    values = None if certainty is None else [np.nan if c is None else c for c in certainty]
    n = len(choice)
    return Votes.from_long([0] * n, range(n), choice, values, n_options=3, n_items=1)


@pytest.mark.parametrize("case", vector("majority_vote")["cases"])
def test_majority_and_its_certainty_match_the_reference(case):
    expected = case["expected"]

    result = majority_vote(one_item(case["labels"], case["certainty"]))

    answer = expected["answer"]
    assert result.answer[0] == (-1 if answer is None else LETTERS.index(answer))
    if expected.get("certainty") is None:
        assert np.isnan(result.certainty[0])
    else:
        assert result.certainty[0] == expected["certainty"]
    if "share" in expected:
        assert result.share[0] == pytest.approx(expected["share"])
    tied = [LETTERS[option] for option in np.flatnonzero(result.tied[0])]
    assert tied == expected.get("tied", [])
    assert result.undecided[0] == (expected.get("reason") == "tie")


def test_certainty_breaks_a_tie_unless_it_is_tied_or_missing_too():
    votes = Votes.from_matrix(
        [[0, 1], [0, 1], [0, 1], [0, 1]],
        [[60, 50], [50, 50], [np.nan, np.nan], [np.nan, 10]],
    )

    result = majority_vote(votes, ties="certainty")

    assert result.answer.tolist() == [0, -1, -1, 1]
    assert result.tied.all()


def test_random_ties_fall_on_each_tied_option_equally_often_and_repeat_with_the_seed():
    votes = Votes.from_matrix([[0, 1, 2, 2, 1]] * 4000, n_options=3)

    result = majority_vote(votes, ties="random", rng=np.random.default_rng(3))
    again = majority_vote(votes, ties="random", rng=np.random.default_rng(3))

    share = (result.answer == 1).mean()
    assert set(result.answer.tolist()) == {1, 2}
    assert share == pytest.approx(0.5, abs=4 * 0.5 / 4000**0.5)
    np.testing.assert_array_equal(result.answer, again.answer)


def test_half_credit_is_the_expectation_of_breaking_ties_by_chance():
    rng = np.random.default_rng(5)
    votes, truth = random_votes(rng, n_items=60, n_options=3), rng.integers(0, 3, 60)

    half = tie_credit_accuracy(majority_vote(votes, ties="half"), truth).value

    drawn = [
        tie_credit_accuracy(majority_vote(votes, ties="random", rng=rng), truth).value
        for _ in range(2000)
    ]
    assert half == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 2000**0.5)


def test_a_random_tie_needs_a_generator_and_a_policy_a_known_name():
    votes = one_item("AB")

    with pytest.raises(ValueError, match="needs `rng`"):
        majority_vote(votes, ties="random")
    with pytest.raises(ValueError, match="must be one of exclude, half, certainty, random"):
        majority_vote(votes, ties="coin")


def test_unanimity_counts_items_with_two_votes_and_names_single_ones():
    result = unanimity(Votes.from_matrix([[0, 0], [0, 1], [1, -1], [-1, -1]]))

    assert (result.unanimous, result.n, result.single, result.value) == (1, 2, 1, 0.5)
    assert unanimity(Votes.from_matrix([[1, -1]])).value is None
