"""Evidence by betting: fair if nothing changed, whatever the items and however often one looks."""

import doctest
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from benchmarks.simulations.of_extras.watching import WATCHED
from benchmarks.simulations.promises import Counts
from extras.watching.stats import (
    mean_sequence,
    means,
    newcomers,
    of_categories,
    of_numbers,
    rise,
    shift,
    smallest_rise,
)


@pytest.mark.parametrize(
    "module",
    [means, newcomers],
    ids=lambda module: module.__name__,
)
def test_every_example_gives_what_it_shows(module):
    result = doctest.testmod(module)

    assert result.attempted > 1
    assert result.failed == 0


@pytest.mark.nightly
@pytest.mark.parametrize("chances", [(0.0, 0.3), (0.5, 0.5), (0.05, 0.9), (1.0, 0.2)])
@pytest.mark.parametrize("evidence", [rise, shift])
def test_the_expected_evidence_of_an_unchanged_mean_is_at_most_1(chances, evidence):
    """Exact, over every outcome of a baseline of 2 rounds and of 2 looks at two items."""
    expected = np.zeros(2)
    for outcome in product((0.0, 1.0), repeat=8):
        of_items = np.array(outcome).reshape(4, 2)
        probability = np.where(of_items == 1, chances, 1 - np.array(chances)).prod()
        if probability:
            expected += probability * evidence(of_items[:2].ravel(), [*of_items[2:]])

    assert (expected <= 1 + 1e-9).all()


def test_values_that_are_missing_or_out_of_range():
    before, look = [0.0] * 50 + [1.0], [1.0] * 20

    known = rise(before, [look])
    with_missing = rise([*before, float("nan")], [[], [*look, float("nan")]])

    assert with_missing[0] <= 1
    assert with_missing[1] == known[0] > 1000
    with pytest.raises(ValueError, match="between 0 and 1"):
        rise(before, [[1.5]])


def test_without_a_baseline_nothing_is_shown():
    assert rise([], [[1.0] * 100]).tolist() == pytest.approx([1.0])


def test_the_smallest_rise_is_reached_from_there_on_and_not_before():
    before = [0.0] * 570 + [1.0] * 30
    least = smallest_rise(before, enough=60)

    def largest(mean):
        n = 4000
        look = [1.0] * round(mean * n) + [0.0] * round((1 - mean) * n)
        return rise(before, [look] * 30).max()

    assert largest(least - 0.01) < 60 < largest(least + 0.01)


def test_the_interval_of_a_mean_shrinks_around_it_and_never_grows():
    looks = [[0.0, 1.0, 0.0, 0.0] * 50] * 10

    bounds = mean_sequence(looks)

    assert all(low < 0.25 < high for low, high in bounds)
    assert all(a <= c and d <= b for (a, b), (c, d) in pairwise(bounds))
    assert bounds[-1][1] - bounds[-1][0] < 0.1


@pytest.mark.parametrize(
    ("test", "before"),
    [(of_numbers, list(range(20))), (of_numbers, [5] * 20), (of_categories, list("aaabbbbbbc"))],
    ids=["distinct", "ties", "categories"],
)
def test_new_items_like_the_earlier_ones_give_evidence_of_1_on_average(test, before, monkeypatch):
    # Bold bets have the same mean, but no variance by which to see it.
    monkeypatch.setattr(newcomers, "_POWERS", np.array([0.75, 0.9]))
    rng = np.random.default_rng(7)
    evidence = []
    for _ in range(4000):
        shuffled = [before[index] for index in rng.permutation(len(before))]
        evidence.append(test(shuffled[:-4], [shuffled[-4:-2], shuffled[-2:]], rng=rng)[-1])

    error = np.std(evidence) / len(evidence) ** 0.5
    assert np.mean(evidence) == pytest.approx(1, abs=4 * error)
    assert np.std(evidence) > 0.01


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["nothing moved", "judge moved by 0.2", "judge and items moved by 0.2"]
)
def test_planted_worlds_show_what_moved_and_nothing_else(name):
    check = next(check for check in WATCHED.checks if check.name == name)
    counts, rng = Counts(), np.random.default_rng(11)

    for _ in range(8):
        check.once(rng, counts)

    shares = {name: np.mean(values) for name, values in counts.values.items()}
    assert shares["something is shown that did not move"] == 0
    moved = {kind for kind in ("judge", "items") if kind in name}
    assert {kind for kind in ("judge", "items", "people") if shares[f"{kind} moved"] > 0.5} == moved


def test_every_example_of_the_methods_gives_what_it_shows():
    page = Path(__file__).parents[3] / "extras/watching/docs/watching.md"

    result = doctest.testfile(str(page), module_relative=False)

    assert result.attempted > 5
    assert result.failed == 0
