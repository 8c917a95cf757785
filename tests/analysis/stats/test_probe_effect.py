"""Effects of probes: counts by hand, and intervals that cover where items share clusters."""

import numpy as np
import pytest

from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.comparison.probes import agreed, change_of_shift, probe_effect
from analysis.stats.core.shared_variance import Sharing


def test_pairs_without_both_answers_are_left_out_and_ties_count_half():
    before = [0, 1, 2, -1, 1, 0]
    after = [0, 0, 0, 0, -1, 1]

    found = probe_effect(before, after, [0, 0, 1, 2, 3, 4], {}, target=[0, 0, 0, 0, 0, 0])

    assert (found.n_pairs, found.n_items) == (4, 3)
    assert (found.flipped.correct, found.flipped.n) == (3, 4)
    assert found.shift.value == (0 + 1 + 0.5 - 1) / 4
    assert (found.exact.b, found.exact.c) == (2, 1)


def test_nothing_to_compare_has_a_reason():
    found = probe_effect([-1], [0], [0], {}, target=[0])

    assert (found.flipped.value, found.flipped.reason) == (None, "empty_group")
    assert (found.shift.value, found.shift.reason) == (None, "empty_group")
    assert (found.exact.p, found.exact.reason) == (None, "no_discordant")


def test_one_reading_an_item_gives_the_interval_of_general_differences():
    rng = np.random.default_rng(1)
    before, after = rng.integers(0, 2, (2, 120))
    persona = np.arange(120) // 6

    found = probe_effect(
        before, after, np.arange(120), {"persona": persona}, target=np.zeros(120, dtype=int)
    )

    moved = (after == 0).astype(float) - (before == 0)
    reference = general_difference(moved, Sharing.of_items(120, {"persona": persona}))
    assert found.shift.interval.low == pytest.approx(reference.interval.low, abs=1e-12)
    assert found.shift.p == pytest.approx(reference.p, abs=1e-12)


def test_a_smaller_shift_is_twice_the_halved_difference():
    first, second = np.array([1, 0.5, -1, 1, 0, np.nan]), np.array([-1, 0, 0, 0, 0, 1])

    found = change_of_shift(first, second, np.arange(6), {})

    assert found.value == pytest.approx((2 + 0.5 - 1 + 1 + 0) / 5)
    assert found.n == 5
    assert found.interval.low <= found.value <= found.interval.high


def test_a_verdict_of_both_orders_needs_both_and_ties_where_they_differ():
    choice = np.array([0, 0, 1, 0, 1, 1, 1, 0, -1, 0])
    item = np.array([0, 0, 1, 1, 2, 3, 3, 3, 4, 4])
    first = np.array([0, 1, 0, 1, 0, 0, 1, 1, 0, 1])

    assert agreed(choice, item, first, 5).tolist() == [0, 2, -1, 2, -1]


def test_several_readings_of_an_item_that_never_change_count_once():
    once = probe_effect([0, 1] * 20, [0, 1] * 20, np.arange(40), {}, target=[0] * 40)
    item = np.repeat(np.arange(40), 3)
    thrice = probe_effect([0, 1] * 60, [0, 1] * 60, item, {}, target=[0] * 120)

    assert (once.n_pairs, thrice.n_pairs) == (40, 120)
    assert thrice.flipped.interval.high == pytest.approx(once.flipped.interval.high)
    assert thrice.shift.interval.high == pytest.approx(once.shift.interval.high)
