"""Items drawn with known probabilities."""

import math

import numpy as np
import pytest

from extras.estimation.stats import draw_items, draw_probabilities, error_spread


def test_probabilities_are_proportional_between_their_bounds_and_add_up():
    spread = error_spread(np.r_[np.linspace(0.5, 1, 90), [np.nan] * 10])

    found = draw_probabilities(spread, 30)

    assert found.sum() == pytest.approx(30)
    assert found.min() == pytest.approx(0.1 * 30 / 100)
    inside = (found > found.min() + 1e-9) & (found < 1)
    ratios = found[inside] / spread[inside]
    assert ratios == pytest.approx(np.full(ratios.size, ratios[0]))
    assert draw_probabilities(np.zeros(8), 2) == pytest.approx(np.full(8, 0.25))
    assert draw_probabilities(np.ones(8), 8) == pytest.approx(np.ones(8))


def test_items_are_drawn_as_often_as_their_probability_says():
    chance = draw_probabilities([0.5, 0.5, 0.4, 0.3, 0.1, 0.0, 0.5, 0.2], 3)
    rng = np.random.default_rng(2)

    drawn = np.array([draw_items(chance, rng=rng) for _ in range(4000)])

    assert set(drawn.sum(axis=1)) == {3}
    assert drawn.mean(axis=0) == pytest.approx(chance, abs=4 * math.sqrt(0.25 / 4000))
