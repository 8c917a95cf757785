"""Promises of M-ratio and distance from all answers, checked by simulation."""

from functools import partial

import numpy as np

from analysis.stats import SharedKind, Sharing, Votes
from analysis.stats.comparison.general_difference import GeneralDifference
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.shared_variance import ANNOTATOR
from benchmarks.simulations.promises import Counts, Family, MethodCheck, covers, is_on_average
from extras.methods.stats import (
    Insight,
    insight,
    insight_difference,
    soft_label_scores,
)

Observed = tuple[IntArray, IntArray, FloatArray]


def observer(
    rng: np.random.Generator, n: int, d: float, *, leaning: float = 0.0, noise: float = 0.0
) -> Observed:
    """Truth, choice and certainty, which is the noisy evidence beyond the criterion."""
    truth = rng.integers(0, 2, n)
    evidence = rng.normal((truth - 0.5) * d, 1)
    choice = (evidence > leaning).astype(np.int64)
    beyond = evidence - leaning + rng.normal(0, noise, n)
    return truth, choice, beyond * np.where(choice == 1, 1, -1)


def clusters_of(n: int) -> Sharing:
    return Sharing.of_items(n, {"persona": np.arange(n) // 5})


def insight_of(made: Observed) -> Insight:
    """The insight of an observer, with items in groups of five."""
    truth, choice, certainty = made
    return insight(truth, choice, certainty, clusters_of(len(truth)))


CrowdArrays = tuple[
    IntArray, IntArray, IntArray, IntArray, IntArray, FloatArray, IntArray, FloatArray
]


def crowd(rng: np.random.Generator, *, n_items: int = 300, n_people: int = 30) -> CrowdArrays:
    """Three people per item with different scales and leanings; items and personas matter.

    Returns item, person, persona, truth, people's choice and certainty, and a judge's.
    """
    block = np.arange(n_items) % (n_people // 3)
    item, person = np.repeat(np.arange(n_items), 3), (block[:, None] * 3 + np.arange(3)).ravel()
    persona = rng.permutation(n_items) % (n_items // 10)
    truth = rng.integers(0, 2, n_items)
    shift = rng.normal(0, 0.5, n_items) + rng.normal(0, 0.3, n_items)[persona]
    leaning, scale = rng.normal(0, 0.3, n_people), rng.uniform(5, 60, n_people)
    offset = rng.uniform(0, 40, n_people)
    evidence = truth[item] - 0.5 + shift[item] + rng.normal(0, 1, item.size)
    choice = (evidence > leaning[person]).astype(np.int64)
    certainty = offset[person] + scale[person] * np.abs(evidence - leaning[person])
    seen = truth - 0.5 + shift + rng.normal(0, 1, n_items)
    return item, person, persona, truth, choice, certainty, (seen > 0).astype(int), np.abs(seen)


# Means over 300 studies of `crowd`: M-ratios of people and judge, and their difference.
AVERAGE = (0.966, 1.0, 0.034)


def both_sides(made: CrowdArrays) -> tuple[Insight, Insight, GeneralDifference]:
    """The insight of people, of the judge, and the difference."""
    item, person, persona, truth, choice, certainty, chosen, sure = made
    votes = Votes.from_long(item, person, choice, n_items=truth.size)
    items, rows = Sharing.of_items(truth.size, {"persona": persona}, votes), np.arange(item.size)
    codes = {"item": item, ANNOTATOR: person, "persona": persona[item]}
    answers = Sharing.of(
        item.size, {name: SharedKind.of(rows, code, item.size) for name, code in codes.items()}
    )
    people = insight(truth[item], choice, certainty, answers, by=person)
    judge = insight(truth, chosen, sure, items.without(ANNOTATOR))
    gap = insight_difference(judge, np.arange(truth.size), people, item, items)
    return people, judge, gap


def ideal(rng: np.random.Generator, counts: Counts, *, d: float) -> None:
    found = insight_of(observer(rng, 2000, d))
    counts.measured("M-ratio of an ideal observer", found.m_ratio)
    counts.covered("interval of the M-ratio", found.interval, 1.0)


SIDES_OF_INSIGHT = ("M-ratio of people", "M-ratio of a judge", "difference")


def insights(rng: np.random.Generator, counts: Counts) -> None:
    people, judge, difference = both_sides(crowd(rng))
    intervals = people.interval, judge.interval, difference.interval
    for name, interval, truth in zip(SIDES_OF_INSIGHT, intervals, AVERAGE, strict=True):
        counts.covered(name, interval, truth)


INSIGHT = Family(
    "insight",
    (
        *(
            MethodCheck(
                f"ideal observer, d′ {d:g}",
                "2,000 answers whose certainty is the evidence itself, so that the M-ratio is 1.",
                partial(ideal, d=d),
                {
                    "M-ratio of an ideal observer": is_on_average(1.0, within=0.01),
                    "interval of the M-ratio": covers(least=0.92),
                },
                quick=40,
                full=1000,
            )
            for d in (0.8, 1.6)
        ),
        MethodCheck(
            "insight of people and of a judge",
            "300 items of 30 personas; people in blocks of three, with different scales and "
            "leanings.",
            insights,
            {side: covers(least=0.92) for side in SIDES_OF_INSIGHT},
            quick=30,
            full=400,
        ),
    ),
)


# Distance from all answers

ITEMS = 400


def distance(rng: np.random.Generator, counts: Counts, *, k: int, shrunk: float) -> None:
    """A judge that knows the shares p, or moves them towards one half by the factor `shrunk`."""
    p = rng.beta(2, 1, ITEMS)
    ones = rng.binomial(k, p)
    q = 0.5 + (p - 0.5) * (1 - shrunk)
    found = soft_label_scores(
        np.stack([q, 1 - q], axis=1),
        np.stack([ones, k - ones], axis=1),
        Sharing.of_items(ITEMS, {"persona": np.arange(ITEMS)}),
    ).squared
    # E (p − ½)² is 1/12 if p follows the beta distribution (2, 1).
    counts.measured("squared distance", found.value)
    counts.covered("interval", found.interval, shrunk**2 / 12)


_DISTANCES = tuple(
    MethodCheck(
        f"{name}, {k} answers to an item",
        f"{ITEMS} items whose shares are beta-distributed; the distance over all people is known.",
        partial(distance, k=k, shrunk=shrunk),
        {
            "squared distance": is_on_average(shrunk**2 / 12),
            "interval": covers(least=0.92),
        },
        quick=300,
        full=5000,
    )
    for name, shrunk in (("a judge that knows the shares", 0.0), ("a judge that hedges", 0.5))
    for k in (2, 3, 10)
)


DISAGREEMENT = Family("disagreement", _DISTANCES)
