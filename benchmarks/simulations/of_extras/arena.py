"""Promises of the ranking of a live arena, whose pairs are drawn by the answers so far."""

import math
from functools import cache, partial

import numpy as np

from analysis.stats import Sharing
from analysis.stats.core.results import FloatArray
from analysis.stats.core.shared_variance import ANNOTATOR, SharedKind
from analysis.stats.systems.strengths import fit_strengths, results, system_strengths
from analysis.stats.systems.win_rates import Contests
from benchmarks.simulations.promises import (
    Counts,
    Family,
    MethodCheck,
    covers,
    is_on_average,
)
from extras.arena.stats import pair_chances
from extras.arena.stats.pair_draws import UNIFORM

# Two systems that are nearly alike, and two that are clearly better and worse.
TRUE = np.array([0.8, 0.1, 0.0, -0.9])
TASTE, OF_PERSON, OF_ITEM = 0.4, 0.3, 0.3  # standard deviations
AHEAD, PER_PAIR, PAIRS, PERSONAS, PEOPLE = 10, 2, 240, 40, 48


def arena(rng: np.random.Generator, *, uniform: float) -> tuple[Contests, FloatArray, Sharing]:
    """Answers to pairs that are drawn `AHEAD` at a time, as a stock is filled.

    Personas and people like systems more or less than others do, and a pair has luck of its own.
    """
    n = TRUE.size
    taste = rng.normal(0, TASTE, (PERSONAS, n))
    people = rng.normal(0, OF_PERSON, (PEOPLE, n))
    wins = np.zeros((n, n))
    rows: list[tuple[int, ...]] = []
    for start in range(0, PAIRS, AHEAD):
        chances = pair_chances(wins, np.zeros((n, n)), np.zeros((n, n)), uniform=uniform)
        for pair in range(start, start + AHEAD):
            one, two = rng.permutation(divmod(rng.choice(n * n, p=chances.ravel()), n))
            persona = int(rng.integers(PERSONAS))
            pull = rng.normal(0, OF_ITEM)
            for person in rng.choice(PEOPLE, PER_PAIR, replace=False):
                of = TRUE + taste[persona] + people[person]
                is_first = rng.random() < 1 / (1 + np.exp(of[two] - of[one] + pull))
                rows.append((one, two, int(not is_first), pair, persona, person))
                wins[(one, two) if is_first else (two, one)] += 1
    table = np.array(rows)
    names = ("item", "persona", ANNOTATOR)
    at = np.arange(len(table))
    kinds = {name: SharedKind.of(at, table[:, 3 + k], len(table)) for k, name in enumerate(names)}
    return Contests.of(table[:, 0], table[:, 1]), table[:, 2], Sharing.of(len(table), kinds)


@cache
def true_strengths(size: int = 400_000) -> FloatArray:
    """The strengths over all people, personas and pairs; tastes pull them towards 0.

    From one very large arena, because Bradley and Terry’s model holds only approximately then.
    """
    rng, n = np.random.default_rng(1), TRUE.size
    first = rng.integers(n, size=size)
    second = (first + rng.integers(1, n, size)) % n
    spread = math.sqrt(2 * (TASTE**2 + OF_PERSON**2) + OF_ITEM**2)
    gap = TRUE[first] - TRUE[second] + rng.normal(0, spread, size)
    choice = (rng.random(size) > 1 / (1 + np.exp(-gap))).astype(int)
    wins, ties = results(Contests.of(first, second), choice, np.ones((1, size)))
    return fit_strengths(wins, ties).strength[0]


def ranked(rng: np.random.Generator, counts: Counts, *, uniform: float) -> None:
    contests, choice, sharing = arena(rng, uniform=uniform)
    found, true = system_strengths(contests, choice, sharing), true_strengths()
    for at, strength in zip(true, found.strengths, strict=True):
        counts.covered("interval of a strength", strength.interval, float(at))
    strongest, one, other, weakest = (
        None if strength.value is None else strength.value - float(at)
        for at, strength in zip(true, found.strengths, strict=True)
    )
    counts.measured("bias of the strongest", strongest)
    counts.measured("bias of the weakest", weakest)
    if one is not None and other is not None:
        counts.measured("bias of the difference of two alike", one - other)


ARENA = Family(
    "arena",
    tuple(
        MethodCheck(
            f"four systems, {how}",
            "240 pairs, two answers each, ten drawn at a time; personas and people differ in taste",
            partial(ranked, uniform=uniform),
            {
                "interval of a strength": covers(),
                "bias of the difference of two alike": is_on_average(within=0.03),
                # Of every maximum likelihood estimate from few answers: away from the mean.
                "bias of the strongest": is_on_average(within=0.06),
                "bias of the weakest": is_on_average(within=0.06),
            },
            quick=40,
            full=2000,
        )
        for how, uniform in (("drawn by the answers so far", UNIFORM), ("drawn at random", 1.0))
    ),
)
