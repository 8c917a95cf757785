import numpy as np
import pytest

from analysis.stats import Votes


def test_matrix_and_long_form_hold_the_same_votes():
    matrix = Votes.from_matrix([[0, 1, -1], [1, 1, 0]], [[10, 20, np.nan], [30, np.nan, 50]])

    long = Votes.from_long(
        [0, 0, 1, 1, 1], [0, 1, 0, 1, 2], [0, 1, 1, 1, 0], [10, 20, 30, np.nan, 50]
    )

    assert matrix.counts().tolist() == long.counts().tolist() == [[1, 1], [1, 2]]
    np.testing.assert_array_equal(matrix.certainty, long.certainty)
    np.testing.assert_array_equal(matrix.annotator, long.annotator)


def test_only_long_form_can_tell_an_answer_that_is_missing():
    assert Votes.from_long([0, 0], [0, 1], [0, -1]).n_missing == 1
    assert Votes.from_matrix([[0, -1]]).n_missing == 0


def test_items_and_options_without_a_vote_keep_their_place():
    votes = Votes.from_long([2], [0], [0], n_items=4, n_options=3)

    assert votes.counts().tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_an_empty_study_has_no_votes():
    votes = Votes.from_long([], [], [])

    assert (votes.n, votes.n_items, votes.n_annotators) == (0, 0, 0)
    assert votes.counts().shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [0], [2]), r"`choice` must lie in -1..1, got 2..2"),
        (([0], [0], [-2]), r"`choice` must lie in -1..1"),
        (([-1], [0], [1]), r"`item` must lie in 0..-1|`item` must lie in 0"),
        (([0], [0], [1], [0.0]), r"`certainty` must lie in 1..100, got 0..0"),
        (([0], [0], [1], [101.0]), r"`certainty` must lie in 1..100, got 101..101"),
        (([0, 1], [0], [1]), r"must have one length, got 2, 1, 1, 2"),
        (([0.5], [0], [1]), r"`item` must hold whole numbers, got float64"),
        (([[0]], [0], [1]), r"`item` must be one-dimensional, got shape \(1, 1\)"),
    ],
)
def test_input_that_does_not_fit_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        Votes.from_long(*arguments)
