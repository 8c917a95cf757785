"""Calibration, discrimination, and panels at equal coverage, of judges with known certainty."""

from functools import cache, partial

import numpy as np

from analysis.promises import Counts, MethodCheck, compared, covers, errs, is_on_average
from analysis.stats import (
    Sharing,
    Votes,
    certainty_quality,
    compare_certainty,
    general_spearman,
    like_for_like,
)
from analysis.stats.certainty.intervals import squared_gap
from analysis.stats.core.results import FloatArray, IntArray
from extras.planted_truth.answers import block_design


def judge_with_impressions(
    rng: np.random.Generator, truth: IntArray, k: int, skill: float = 0.9
) -> Votes:
    """k readings whose certainty grows with the strength of the item's impression."""
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


# Levels of certainty, and the share of right answers at each.
PERFECT = ((0.5, 0.6, 0.7, 0.8, 0.9), (0.5, 0.6, 0.7, 0.8, 0.9))
ONE_LEVEL = ((0.95,), (0.95,))
BOASTFUL = ((0.7, 0.8, 0.9, 0.95), (0.6, 0.65, 0.7, 0.7))
CertaintyLevels = tuple[tuple[float, ...], tuple[float, ...]]


def stated(
    rng: np.random.Generator, levels: CertaintyLevels, n: int, alike: int = 1
) -> tuple[FloatArray, IntArray, IntArray]:
    """Certainty, correctness and unit of each answer; answers of a unit correlate."""
    certainties, accuracy = (np.array(values) for values in levels)
    unit = np.arange(n) // alike
    level = rng.integers(0, certainties.size, n)
    shift = 0.2 * rng.choice([-1, 1], n // alike)[unit] if alike > 1 else 0.0
    right = rng.random(n) < np.clip(accuracy[level] + shift * (accuracy[level] < 0.8), 0, 1)
    return certainties[level], right.astype(np.int64), unit


LEVELS = np.array([50, 60, 70, 80, 90])


@cache
def of_true_shares() -> tuple[float, float]:
    """Brier score and AUROC of a rater whose certainties `LEVELS` equal the shares right."""
    share = LEVELS / 100
    wins = np.sign(LEVELS[:, None] - LEVELS) / 2 + 0.5
    weight = np.outer(share, 1 - share)
    return float(np.mean(share * (1 - share))), float((wins * weight).sum() / weight.sum())


def gap(
    rng: np.random.Generator, counts: Counts, *, levels: CertaintyLevels, n: int, alike: int
) -> None:
    certainties, accuracy = (np.array(values) for values in levels)
    truth = float(np.mean((certainties - accuracy) ** 2))
    counts.covered("squared gap", squared_gap(*stated(rng, levels, n, alike)).interval, truth)


def true_shares(rng: np.random.Generator, counts: Counts) -> None:
    brier, auroc = of_true_shares()
    certainty = rng.choice(LEVELS, 300)
    correct = (rng.random(300) < certainty / 100).astype(int)
    found = certainty_quality(certainty, correct, rng=rng, n_draws=400)
    counts.covered("Brier score", found.brier.interval, brier)
    counts.covered("AUROC", found.auroc.interval, auroc)
    counts.measured("squared gap", found.squared_error.value)


SIDES = ("human_single", "model_single", "model_majority")
WORDS = {"human_single": "people", "model_single": "one run", "model_majority": "majority of runs"}


@cache
def _true_panel(side: str) -> float:
    rng = np.random.default_rng(0)
    found = getattr(like_for_like(*panel(rng, 60_000), rng=rng), side).matched.value
    return float(found)


def at_coverage(rng: np.random.Generator, counts: Counts) -> None:
    found = like_for_like(*panel(rng, 300), rng=rng)
    for side in SIDES:
        matched = getattr(found, side).matched
        counts.covered(WORDS[side], matched.interval, _true_panel(side))


def ranks(rng: np.random.Generator, counts: Counts, *, rho: float) -> None:
    """Certainties of two sides with correlation `rho` across items, personas and questions."""
    place = rng.permutation(300)
    clusters = {"persona": place % 20, "question": place // 20 % 15}
    tied = np.linalg.cholesky([[1.0, rho], [rho, 1.0]])
    both = tied @ rng.normal(0, 1, (2, 300))
    for codes in clusters.values():
        both += (tied @ rng.normal(0, 0.5, (2, codes.max() + 1)))[:, codes]
    truth = 6 / np.pi * np.arcsin(rho / 2)
    found = general_spearman(both[0], both[1], Sharing.of_items(300, clusters)).interval
    counts.covered("Spearman’s correlation in general", found, truth)
    if rho == 0 and found is not None:
        counts.happened("certainties are said to go together", not found.low <= 0 <= found.high)
    alone = compare_certainty(50 + both[0], 50 + both[1]).spearman_interval
    counts.covered("Bonett and Wright", alone, truth)


CHECKS = (
    *(
        MethodCheck(
            f"certainty {name}, {n} answers{', alike in threes' if alike > 1 else ''}",
            "Certainties at a few levels whose shares of right answers are known.",
            partial(gap, levels=levels, n=n, alike=alike),
            {"squared gap": covers(least=0.92)},
            quick=150,
            full=3000,
        )
        for name, levels in (
            ("perfect", PERFECT),
            ("at one level", ONE_LEVEL),
            ("boastful", BOASTFUL),
        )
        for n, alike in ((60, 1), (300, 1), (300, 3))
    ),
    MethodCheck(
        "certainties that are the shares right",
        "300 answers with certainties from 50 to 90 that equal the probability of being right.",
        true_shares,
        {
            "Brier score": covers(least=0.92),
            "AUROC": covers(least=0.92),
            "squared gap": is_on_average(0.0),
        },
        quick=150,
        full=3000,
    ),
    MethodCheck(
        "accuracy at people’s coverage",
        "300 items, three people and three runs each, with certainty that follows the impression.",
        at_coverage,
        {WORDS[side]: covers(least=0.92) for side in SIDES},
        quick=40,
        full=1000,
    ),
    *(
        MethodCheck(
            f"rank correlation of certainties, {rho:g}",
            "300 items, 20 personas × 15 questions, with effects of SD .5 on both sides.",
            partial(ranks, rho=rho),
            {
                "Spearman’s correlation in general": covers(),
                **(
                    {"certainties are said to go together": errs(0.05, most=0.07)}
                    if rho == 0
                    else {}
                ),
                "Bonett and Wright": compared(),
            },
            quick=150,
            full=3000,
        )
        for rho in (0.0, 0.6)
    ),
)
