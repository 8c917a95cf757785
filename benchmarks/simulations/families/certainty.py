"""Correlation of the certainties of people and judges."""

from functools import partial

import numpy as np

from analysis.stats import Sharing, general_spearman
from benchmarks.simulations.promises import Counts, MethodCheck, covers, errs


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


CHECKS = (
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
            },
            quick=150,
            full=3000,
        )
        for rho in (0.0, 0.6)
    ),
)
