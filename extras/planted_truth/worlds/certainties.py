"""Judges whose certainty is known to be right, boastful or noisy."""

from functools import cache

import numpy as np

from analysis.stats import Votes
from analysis.stats.core.results import FloatArray, IntArray
from extras.planted_truth.worlds.answers import block_design


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
