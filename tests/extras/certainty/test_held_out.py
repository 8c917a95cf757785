import numpy as np
import pytest

from extras.certainty.stats import held_out_threshold


def test_the_lowest_threshold_that_reaches_the_target_is_measured_on_the_other_part():
    certainty = np.array([90] * 40 + [80] * 40 + [60] * 40)
    correct = np.array([1] * 36 + [0] * 4 + [1] * 30 + [0] * 10 + [1] * 20 + [0] * 20)
    held_out = np.arange(120) % 2 == 1

    result = held_out_threshold(certainty, correct, held_out, target=0.8)

    accepted = certainty >= 80
    assert result.threshold == 80
    assert result.chosen_on.n == (accepted & ~held_out).sum()
    assert result.measured_on.correct == correct[accepted & held_out].sum()
    assert result.coverage == pytest.approx(2 / 3)
    assert (result.n_choosing, result.n_held_out) == (60, 60)


def test_what_the_held_out_part_says_does_not_choose():
    rng = np.random.default_rng(1)
    certainty, correct = rng.integers(50, 100, 400), rng.integers(0, 2, 400)
    held_out = np.arange(400) >= 200
    other = correct.copy()
    other[held_out] = 1 - other[held_out]

    one = held_out_threshold(certainty, correct, held_out, target=0.55)
    two = held_out_threshold(certainty, other, held_out, target=0.55)

    assert one.threshold == two.threshold
    assert one.measured_on.correct == two.measured_on.n - two.measured_on.correct


def test_a_threshold_needs_enough_answers_and_may_not_exist():
    certainty, correct = [99] * 29 + [60] * 60, [1] * 29 + [0] * 60
    both = certainty + certainty, correct + correct, [False] * 89 + [True] * 89

    assert held_out_threshold(*both, target=0.9).reason == "not_certified"
    assert held_out_threshold(*both, target=0.9, min_n=29).threshold == 99


def test_an_empty_part_says_so_and_bad_input_is_refused():
    assert held_out_threshold([80], [1], [True], target=0.5).reason == "empty_group"
    assert held_out_threshold([80, 70], [1, -1], [False, True], target=0.5).n_held_out == 0
    with pytest.raises(ValueError, match="`target` must lie in"):
        held_out_threshold([80], [1], [True], target=0)
    with pytest.raises(ValueError, match="`held_out` has 2 rows"):
        held_out_threshold([80], [1], [True, False], target=0.5)
