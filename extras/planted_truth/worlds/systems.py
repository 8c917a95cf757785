"""Systems of known strength whose responses people and a judge compare."""

from functools import cache

import numpy as np

from analysis.stats import Contests
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.systems.strengths import fit_strengths, results

STRENGTHS = np.array([0.9, 0.3, -0.2, -1.0])


def planted(
    rng: np.random.Generator, *, accuracy: float, n_personas: int = 60, each: int = 6
) -> tuple[Contests, IntArray, IntArray, IntArray]:
    """Contests, people who share tastes within a persona, a judge who errs at random, personas."""
    n = n_personas * each
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    persona = np.arange(n) // each
    # A taste that flips the comparison: people of a persona prefer other systems.
    taste = rng.normal(0, 0.7, (n_personas, 4))
    own = STRENGTHS + taste[persona]
    rows = np.arange(n)
    p = 1 / (1 + np.exp(own[rows, second] - own[rows, first]))
    people = (rng.random(n) >= p).astype(int)
    judge = np.where(rng.random(n) < accuracy, people, 1 - people)
    return Contests.of(first, second), people, judge, persona


@cache
def true_rates(n: int = 200_000) -> tuple[FloatArray, FloatArray]:
    """Win rates and strengths over all personas, from one very large study."""
    contests, people, _, _ = planted(
        np.random.default_rng(99), accuracy=1, n_personas=n // 2, each=2
    )
    won = np.where(people == 0, contests.first, contests.second)
    met = np.bincount(contests.first, minlength=4) + np.bincount(contests.second, minlength=4)
    strengths = fit_strengths(*results(contests, people, np.ones((1, n)))).strength[0]
    return np.bincount(won, minlength=4) / met, strengths
