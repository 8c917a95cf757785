"""Agreement of annotators, of a judge with itself, and annotators who err as a judge does."""

from functools import partial
from itertools import product

import numpy as np

from analysis.promises import Counts, MethodCheck, covers, errs, is_on_average
from analysis.stats import (
    change_beyond_noise,
    krippendorff_alpha,
    shared_errors,
    stands_out,
)
from analysis.stats.agreement.shared_errors import (
    FALSE_FLAGS_PER_1000,
    FALSE_FLAGS_PER_1000_WHEN_HURRIED,
    LIMIT,
    LIMIT_WHEN_HURRIED,
)
from analysis.stats.core.results import IntArray
from extras.planted_truth.answers import careful_errors, runs_of

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


SPREADS = list(product((0.3, 1.0, 2.0), (0.0, 0.6, 1.0)))


def probabilities(wrong: IntArray, judges: list[IntArray]) -> list[float]:
    """The corrected probability of every person."""
    by_judge = [shared_errors(wrong, judge) for judge in judges]
    return [
        stands_out([r.probability for r in row if r.probability is not None], None)[0] or 1.0
        for row in zip(*by_judge, strict=True)
    ]


def careful(rng: np.random.Generator, counts: Counts) -> None:
    item_sd, person_sd = SPREADS[rng.integers(len(SPREADS))]
    for found in probabilities(*careful_errors(rng, item_sd=item_sd, person_sd=person_sd)):
        counts.happened("careful people stand out", found < LIMIT)
        name = "careful people stand out who went faster than people read"
        counts.happened(name, found < LIMIT_WHEN_HURRIED)


FLAGS = (
    MethodCheck(
        "careful people",
        "300 items, 30 people of varying ability, three judges with similar errors; nobody copies.",
        careful,
        {
            "careful people stand out": errs(FALSE_FLAGS_PER_1000 / 1000),
            "careful people stand out who went faster than people read": errs(
                FALSE_FLAGS_PER_1000_WHEN_HURRIED / 1000
            ),
        },
        quick=20,
        full=400,
    ),
)
