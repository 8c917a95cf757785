"""Answers before and after an advice: figures counted by hand, and intervals that cover."""

import doctest

import numpy as np
import pytest

from analysis.stats.core.shared_variance import Sharing
from extras.advice import chapter as module
from extras.advice.chapter import persuasion


def independent(n: int) -> Sharing:
    return Sharing.of_items(n, {"persona": np.arange(n)})


def test_every_figure_is_that_of_a_count_by_hand():
    rows = [
        # before, after, certainty before, after, advice
        (0, 1, 60, 70, 1),  # persuaded, unsure
        (0, 0, 90, 80, 1),  # stays, sure
        (0, 2, 85, np.nan, 1),  # to a tie, sure
        (1, 1, 50, 75, 1),  # agreed already
        (1, 0, 50, 50, 1),  # dissuaded
        (2, 1, np.nan, 40, 1),  # from a tie
        (1, 0, 30, 30, -1),  # an advice for neither
        (0, -1, 10, np.nan, 1),  # no second answer
    ] * 3
    before, after, sure_before, sure_after, favors = np.array(rows).T
    found = persuasion(before, after, sure_before, sure_after, favors, independent(len(rows)))

    assert found.n == 21
    assert found.changed.value == pytest.approx(5 / 7)
    assert (found.persuaded.correct, found.persuaded.n) == (3, 9)
    assert (found.dissuaded.correct, found.dissuaded.n) == (3, 6)
    assert (found.persuaded_sure.correct, found.persuaded_sure.n) == (0, 6)
    assert (found.persuaded_unsure.correct, found.persuaded_unsure.n) == (3, 3)
    # 1 + 0 + .5 + 0 - 1 + .5 over six answers
    assert found.shift.value == pytest.approx(1 / 6)
    weights = [130 / 160, 10 / 190, 85 / 185, 25 / 50, -1, 40 / 100]
    assert found.weight.value == pytest.approx(np.mean(weights))
    assert found.certainty.value == pytest.approx((-0.10 + 0.25) / 2)


def test_what_nobody_did_is_undefined_with_its_reason():
    found = persuasion([1, 1], [1, 1], [50, 50], [50, 50], [1, 1], independent(2))

    assert (found.persuaded.value, found.persuaded.reason) == (None, "empty_group")
    assert found.dissuaded.n == 2
    nobody = persuasion([-1], [-1], [np.nan], [np.nan], [1], independent(1))
    assert (nobody.n, nobody.shift.value, nobody.shift.reason) == (0, None, "empty_group")


def test_the_example_gives_what_it_shows():
    found = doctest.testmod(module)

    assert found.attempted > 1
    assert not found.failed
