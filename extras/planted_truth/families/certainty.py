"""Calibration, discrimination, and panels at equal coverage."""

from functools import cache, partial

import numpy as np

from analysis.promises import Counts, MethodCheck, compared, covers, errs, is_on_average
from analysis.stats import (
    Sharing,
    certainty_quality,
    compare_certainty,
    general_spearman,
    like_for_like,
)
from analysis.stats.certainty.squared_gap import squared_gap
from extras.planted_truth.worlds.certainties import (
    BOASTFUL,
    LEVELS,
    ONE_LEVEL,
    PERFECT,
    Levels,
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


def ranks(rng: np.random.Generator, counts: Counts, *, rho: float) -> None:
    """Certainties of two sides whose items, personas and questions correlate with `rho`."""
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
            f"rank correlation of certainties, {rho:g}",
            "300 items, 20 personas × 15 questions, which matter to both sides with SD .5.",
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
