"""Calibration, discrimination, insight, and panels at equal coverage."""

from functools import cache, partial

import numpy as np

from analysis.stats import certainty_quality, like_for_like
from analysis.stats.certainty.squared_gap import squared_gap

from ..checks import Counts, MethodCheck, covers, is_on_average
from ..worlds.certainties import (
    BOASTFUL,
    INSIGHT,
    LEVELS,
    ONE_LEVEL,
    PERFECT,
    Levels,
    both_sides,
    crowd,
    insight_of,
    observer,
    of_true_shares,
    panel,
    stated,
)


def gap(rng: np.random.Generator, counts: Counts, *, levels: Levels, n: int, alike: int) -> None:
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


def ideal(rng: np.random.Generator, counts: Counts, *, d: float) -> None:
    found = insight_of(observer(rng, 2000, d))
    counts.measured("M-ratio of an ideal observer", found.m_ratio)
    counts.covered("interval of the M-ratio", found.interval, 1.0)


SIDES_OF_INSIGHT = ("M-ratio of people", "M-ratio of a judge", "difference")


def insights(rng: np.random.Generator, counts: Counts) -> None:
    people, judge, difference = both_sides(crowd(rng))
    intervals = people.interval, judge.interval, difference.interval
    for name, interval, truth in zip(SIDES_OF_INSIGHT, intervals, INSIGHT, strict=True):
        counts.covered(name, interval, truth)


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
        "300 answers with certainties 50 to 90, each the probability of being right.",
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
        "300 items, three people and three runs each, whose certainty follows their impression.",
        at_coverage,
        {WORDS[side]: covers(least=0.92) for side in SIDES},
        quick=40,
        full=1000,
    ),
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
        "300 items of 30 personas; people in blocks of three, each with a scale and a leaning.",
        insights,
        {side: covers(least=0.92) for side in SIDES_OF_INSIGHT},
        quick=30,
        full=400,
    ),
)
