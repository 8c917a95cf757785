import numpy as np
import pytest

from analysis.stats import Votes
from extras.certainty.stats import (
    like_for_like,
)


def test_counts_of_a_small_panel():
    people = Votes.from_matrix(
        [[0, 0, 1], [1, 1, 1], [0, 1, -1]], [[90, 80, 60], [70, np.nan, 75], [85, 90, np.nan]]
    )
    run = Votes.from_matrix([[0], [0], [1]], [[85], [90], [60]])

    panel = like_for_like(people, run, [0, 1, 1], rng=np.random.default_rng(0))

    assert (panel.human_single.overall.correct, panel.human_single.overall.n) == (6, 8)
    assert (panel.human_single.high.correct, panel.human_single.high.n) == (3, 4)
    assert panel.human_single.n_no_certainty == 1
    assert panel.coverage == pytest.approx(4 / 7)
    assert (panel.human_majority.overall.correct, panel.human_majority.overall.n) == (2, 2)
    assert (panel.human_majority.high.correct, panel.human_majority.high.n) == (1, 1)
    assert panel.model_single.high.n == 2
    assert panel.model_majority.reason == "too_few_annotators"
    assert panel.model_majority.overall.value is None


def test_a_tied_majority_is_counted_and_not_an_answer():
    pairs = Votes.from_matrix([[0, 1], [0, 0]], [[90, 90], [80, 90]])

    panel = like_for_like(pairs, pairs, [0, 0], votes_per_item=2, rng=np.random.default_rng(0))

    assert panel.human_majority.n_ties == 1
    assert panel.human_majority.overall.n == 1


def test_panels_about_different_items_are_refused():
    two, three = Votes.from_matrix([[0]] * 2), Votes.from_matrix([[0]] * 3)
    with pytest.raises(ValueError, match="same items"):
        like_for_like(two, three, [0, 0], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="votes_per_item"):
        like_for_like(two, two, [0, 0], votes_per_item=0, rng=np.random.default_rng(0))
