import numpy as np
import pytest

from analysis.stats import Votes, shared_stereotype
from extras.likeness.stats import (
    error_consistency,
    shared_guess,
)
from tests.analysis.stats.reference import people_and_model


def test_items_that_miss_a_side_are_counted_and_too_few_say_so():
    result = error_consistency([1, 0, -1, 1], [1, 1, 1, -1])

    assert (result.n, result.n_missing) == (2, 2)
    assert error_consistency([1], [1]).kappa.reason == "too_few_items"
    assert error_consistency([], []).kappa.reason == "too_few_items"
    assert error_consistency([1, 1], [1, 1]).kappa.reason == "no_variation"
    assert error_consistency([1, 1], [1, 1]).expected == 1


@pytest.mark.parametrize(("when_right", "when_wrong"), [(0.9, 0.9), (0.9, 0.4), (0.6, 0.8)])
def test_the_four_parameters_are_found_again(when_right, when_wrong):
    data = people_and_model(
        np.random.default_rng(0), 60_000, c=0.8, r=0.7, when_right=when_right, when_wrong=when_wrong
    )

    result = shared_guess(*data)

    assert result.people_follow.value == pytest.approx(0.8, abs=0.01)
    assert result.right.value == pytest.approx(0.7, abs=0.015)
    assert result.model_follows_right.value == pytest.approx(when_right, abs=0.03)
    assert result.model_follows_wrong.value == pytest.approx(when_wrong, abs=0.05)


def test_people_get_the_parameters_of_the_shared_stereotype():
    votes, model, truth = people_and_model(
        np.random.default_rng(0), 500, c=0.75, r=0.7, when_right=0.8, when_wrong=0.5
    )
    counts = votes.counts()
    agreement = np.mean((counts * (counts - 1)).sum(axis=1) / 6)
    expected = shared_stereotype(float(agreement), float(np.mean(votes.choice == 0)))

    result = shared_guess(votes, model, truth)

    assert result.people_follow.value == pytest.approx(expected.follows)
    assert result.right.value == pytest.approx(expected.right)


def test_people_who_agree_by_chance_leave_no_guess_to_share():
    votes = Votes.from_matrix([[0, 1], [1, 0], [0, 1]])

    result = shared_guess(votes, [0, 0, 1], [0, 0, 0], rng=np.random.default_rng(0))

    assert (result.reason, result.model_follows_wrong.value) == ("not_identified", None)
    assert shared_guess(votes, [-1, -1, 0], [0, 0, 0]).reason == "no_pairs"
