"""Agreement of annotators, and of a judge with itself."""

from functools import partial

import numpy as np

from analysis.stats import (
    change_beyond_noise,
    krippendorff_alpha,
)
from benchmarks.simulations.answers import runs_of
from benchmarks.simulations.promises import Counts, MethodCheck, covers, is_on_average

ALPHA = 0.2


def alpha(rng: np.random.Generator, counts: Counts, *, n_items: int, k: int) -> None:
    shape = (1 - ALPHA) / ALPHA / 2
    ones = rng.binomial(k, rng.beta(shape, shape, n_items))
    found = krippendorff_alpha(np.stack([k - ones, ones], axis=1), n_draws=400, rng=rng)
    counts.covered("item bootstrap", found.interval, ALPHA)
    counts.measured("alpha", found.value)


NOISY = np.random.default_rng(8).beta(2, 2, 200)


def same_judge(rng: np.random.Generator, counts: Counts) -> None:
    one, other = (runs_of(rng, NOISY, 3) for _ in range(2))
    found = change_beyond_noise(one, other, n_draws=400, rng=rng)
    counts.covered("change beyond noise", found.excess.interval, 0.0)


CHECKS = (
    *(
        MethodCheck(
            f"alpha, {n_items} items × {k} answers",
            "Krippendorff’s alpha is .2; item shares are beta-distributed.",
            partial(alpha, n_items=n_items, k=k),
            {"item bootstrap": covers(least=0.92), "alpha": is_on_average(ALPHA, within=0.005)},
            quick=150,
            full=4000,
        )
        for n_items, k in ((300, 3), (300, 5), (100, 3))
    ),
    MethodCheck(
        "a judge compared with itself",
        "Two settings of a judge with equal chances on 200 items, three readings each.",
        same_judge,
        {"change beyond noise": covers(least=0.92)},
        quick=150,
        full=3000,
    ),
)
