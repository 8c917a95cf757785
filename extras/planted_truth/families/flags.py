"""Flags on annotators who share errors with a judge: how many careful people are flagged."""

from itertools import product

import numpy as np

from analysis.promises import Counts, MethodCheck, errs
from analysis.stats import shared_errors, stands_out
from analysis.stats.agreement.shared_errors import (
    FALSE_FLAGS_PER_1000,
    FALSE_FLAGS_PER_1000_WHEN_HURRIED,
    LIMIT,
    LIMIT_WHEN_HURRIED,
)
from analysis.stats.core.results import IntArray
from extras.planted_truth.worlds.answers import careful_errors

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


CHECKS = (
    MethodCheck(
        "careful people",
        "300 items, 30 people who vary in ability, three judges that err alike; nobody copies.",
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
