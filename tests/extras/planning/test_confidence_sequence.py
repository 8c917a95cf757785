"""A comparison that may be looked at while people answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from extras.planning.stats.confidence_sequence import MOST, confidence_sequence
from extras.planning.stats.simulated_studies import Effects, StudyModel, random_layout
from tests.sampling import examples


def by_grid(values, level=0.95, cells=2000):
    """Every mean of a fine grid, with its two capitals written out; shape (n, 2)."""
    x = (np.asarray(values) + 1) / 2
    grid = (np.arange(cells) + 0.5) / cells
    alive, up, down = np.ones(cells, dtype=bool), np.full(cells, 0.5), np.full(cells, 0.5)
    sums, squares, ends = 0.0, 0.0, []
    for t, one in enumerate(x, start=1):
        variance = (0.25 + squares) / t
        bet = np.sqrt(2 * np.log(2 / (1 - level)) / (variance * t * np.log(t + 1)))
        up *= 1 + np.minimum(bet, MOST / grid) * (one - grid)
        down *= 1 - np.minimum(bet, MOST / (1 - grid)) * (one - grid)
        alive &= np.maximum(up, down) < 1 / (1 - level)
        sums += one
        squares += (one - (0.5 + sums) / (t + 1)) ** 2
        kept = grid[alive]
        ends.append((2 * kept.min() - 1, 2 * kept.max() - 1))
    return np.array(ends)


@settings(max_examples=examples(15, every=200))
@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(0.2, 6), st.floats(0.2, 6))
def test_the_ends_are_those_of_a_brute_force_grid(seed, n, a, b):
    values = 2 * np.random.default_rng(seed).beta(a, b, n) - 1

    found = confidence_sequence(values)

    ends = by_grid(values)
    assert found.low == pytest.approx(ends[:, 0], abs=0.0011)
    assert found.high == pytest.approx(ends[:, 1], abs=0.0011)


def test_intervals_never_widen_and_contain_the_start():
    values = np.random.default_rng(2).uniform(-0.3, 0.5, 80)

    found = confidence_sequence(values)

    assert (np.diff(found.low) >= 0).all()
    assert (np.diff(found.high) <= 0).all()
    assert (found.low[0], found.high[0]) == pytest.approx((-1, 1), abs=0.2)
    assert found.low[-1] < values.mean() < found.high[-1]


@pytest.mark.parametrize("values", [[1.5], [-1.01, 0], [[0.1]]])
def test_observations_outside_the_bounds_are_refused(values):
    with pytest.raises(ValueError, match="values"):
        confidence_sequence(values)


@pytest.mark.parametrize("kind", ["coins", "rare", "means of thirty"])
def test_the_truth_is_ever_excluded_in_at_most_five_percent(kind):
    rng, n = np.random.default_rng(11), examples(20, every=1000)

    excluded = 0
    for _ in range(n):
        if kind == "coins":
            values, truth = rng.choice([-1, 1], 80), 0.0
        elif kind == "rare":
            values, truth = (rng.random(80) < 0.03) * 1.0, 0.03
        else:
            values, truth = rng.choice([-1, 0, 0, 1], (80, 30)).mean(axis=1), 0.0
        found = confidence_sequence(values)
        excluded += bool((found.low > truth).any() or (found.high < truth).any())

    assert excluded / n <= 0.05 + 2 * (0.05 * 0.95 / n) ** 0.5


def looked_at(n: int, *, n_items=300, per=30, answers=3):
    """Shares of studies that ever exclude the truth of these items, and of items in general.

    The judge is as often right as one annotator. Annotators finish one after the other, and each
    gives one observation: the mean of judge right less annotator right.
    """
    rng, effects = np.random.default_rng(21), Effects(persona=0, question=0)
    model = StudyModel(0.62, 1, effects)
    ease = model.judge_ease(0.0)
    here = general = 0
    for _ in range(n):
        each = np.arange(n_items)
        layout = random_layout(
            each, each, n_items=n_items, answers=answers, per_annotator=per, rng=rng
        )
        hard, own = rng.normal(0, 1, (2, n_items))
        mixed = effects.overlap * hard + np.sqrt(1 - effects.overlap**2) * own
        judge = rng.random(n_items) < special.expit(ease + mixed)
        people = special.expit(
            model.ease + hard[:, None] + effects.annotator * rng.normal(size=2000)
        ).mean(axis=1)
        skill = effects.annotator * rng.normal(size=layout.n_annotators)
        right = rng.random(layout.seats.shape) < special.expit(
            model.ease + hard[:, None] + skill[layout.seats]
        )
        gap = judge[:, None].astype(float) - right
        sums = np.bincount(layout.seats.ravel(), gap.ravel())
        sequence = confidence_sequence(sums / np.bincount(layout.seats.ravel()))
        truth = (judge - people).mean()
        here += bool((sequence.low > truth).any() or (sequence.high < truth).any())
        general += bool((sequence.low > 0).any() or (sequence.high < 0).any())
    return here / n, general / n


def test_looking_after_every_annotator_excludes_the_truth_in_at_most_five_percent():
    n = examples(20, every=1000)

    here, general = looked_at(n)

    assert max(here, general) <= 0.05 + 2 * (0.05 * 0.95 / n) ** 0.5
