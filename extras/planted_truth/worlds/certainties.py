"""Observers and judges whose certainty is known to be right, boastful or noisy."""

from functools import cache

import numpy as np

from analysis.stats import Insight, Kind, Sharing, Votes, insight, insight_difference
from analysis.stats.comparison.general_difference import GeneralDifference
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.shared_variance import ANNOTATOR

from .answers import block_design

Observed = tuple[IntArray, IntArray, FloatArray]


def observer(
    rng: np.random.Generator, n: int, d: float, *, leaning: float = 0.0, noise: float = 0.0
) -> Observed:
    """Truth, choice and certainty: the evidence beyond the criterion, with noise of its own."""
    truth = rng.integers(0, 2, n)
    evidence = rng.normal((truth - 0.5) * d, 1)
    choice = (evidence > leaning).astype(np.int64)
    beyond = evidence - leaning + rng.normal(0, noise, n)
    return truth, choice, beyond * np.where(choice == 1, 1, -1)


def clusters_of(n: int) -> Sharing:
    return Sharing.of_items(n, {"persona": np.arange(n) // 5})


def insight_of(made: Observed) -> Insight:
    """The insight of an observer, whose items are grouped in fives."""
    truth, choice, certainty = made
    return insight(truth, choice, certainty, clusters_of(len(truth)))


Crowd = tuple[IntArray, IntArray, IntArray, IntArray, IntArray, FloatArray, IntArray, FloatArray]


def crowd(rng: np.random.Generator, *, n_items: int = 300, n_people: int = 30) -> Crowd:
    """Three people per item with scales and leanings of their own; items and personas matter.

    Item, person, persona, truth, choice and certainty of people, choice and certainty of a judge.
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


# What 300 studies of `crowd` give on average: the M-ratios of people and judge, their difference.
INSIGHT = (0.966, 1.0, 0.034)


def both_sides(made: Crowd) -> tuple[Insight, Insight, GeneralDifference]:
    """The insight of people, of the judge, and the difference."""
    item, person, persona, truth, choice, certainty, chosen, sure = made
    votes = Votes.from_long(item, person, choice, n_items=truth.size)
    items, rows = Sharing.of_items(truth.size, {"persona": persona}, votes), np.arange(item.size)
    codes = {"item": item, ANNOTATOR: person, "persona": persona[item]}
    answers = Sharing.of(
        item.size, {name: Kind.of(rows, code, item.size) for name, code in codes.items()}
    )
    people = insight(truth[item], choice, certainty, answers, by=person)
    judge = insight(truth, chosen, sure, items.without(ANNOTATOR))
    gap = insight_difference(judge, np.arange(truth.size), people, item, items)
    return people, judge, gap


def judge_with_impressions(
    rng: np.random.Generator, truth: IntArray, k: int, skill: float = 0.9
) -> Votes:
    """k readings whose certainty grows with the strength of the impression of the item."""
    signal = skill * np.where(truth == 0, 1, -1)[:, None]
    impression = signal + rng.normal(0, 1.4, (truth.size, k))
    certainty = np.clip(np.round(50 + 14 * np.abs(impression)), 1, 100)
    return Votes.from_matrix((impression < 0).astype(int), certainty)


def panel(rng: np.random.Generator, n: int) -> tuple[Votes, Votes, IntArray]:
    """People in blocks of three, three runs of a judge, and the truth of n items."""
    truth = rng.integers(0, 2, n)
    people = judge_with_impressions(rng, truth, 3)
    runs = judge_with_impressions(rng, truth, 3, skill=0.7)
    item, annotator = block_design(n, n // 10)
    return Votes.from_long(item, annotator, people.choice, people.certainty), runs, truth


# Levels of certainty, and the share of answers that is right at each.
PERFECT = ((0.5, 0.6, 0.7, 0.8, 0.9), (0.5, 0.6, 0.7, 0.8, 0.9))
ONE_LEVEL = ((0.95,), (0.95,))
BOASTFUL = ((0.7, 0.8, 0.9, 0.95), (0.6, 0.65, 0.7, 0.7))
Levels = tuple[tuple[float, ...], tuple[float, ...]]


def stated(
    rng: np.random.Generator, levels: Levels, n: int, alike: int = 1
) -> tuple[FloatArray, IntArray, IntArray]:
    """Certainty, whether right, and the unit of each answer; answers of a unit are alike."""
    certainties, accuracy = (np.array(values) for values in levels)
    unit = np.arange(n) // alike
    level = rng.integers(0, certainties.size, n)
    shift = 0.2 * rng.choice([-1, 1], n // alike)[unit] if alike > 1 else 0.0
    right = rng.random(n) < np.clip(accuracy[level] + shift * (accuracy[level] < 0.8), 0, 1)
    return certainties[level], right.astype(np.int64), unit


LEVELS = np.array([50, 60, 70, 80, 90])


@cache
def of_true_shares() -> tuple[float, float]:
    """Brier score and AUROC of somebody whose certainties `LEVELS` are the shares right."""
    share = LEVELS / 100
    wins = np.sign(LEVELS[:, None] - LEVELS) / 2 + 0.5
    weight = np.outer(share, 1 - share)
    return float(np.mean(share * (1 - share))), float((wins * weight).sum() / weight.sum())
