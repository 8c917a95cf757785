"""Distance from the distribution of people's answers, with few answers to an item."""

from functools import partial

import numpy as np

from analysis.promises import Counts, MethodCheck, covers, is_on_average
from analysis.stats import Sharing, soft_label_scores

N = 400


def distance(rng: np.random.Generator, counts: Counts, *, k: int, shrunk: float) -> None:
    """A judge that knows the shares p, or moves them towards one half by the factor `shrunk`."""
    p = rng.beta(2, 1, N)
    ones = rng.binomial(k, p)
    q = 0.5 + (p - 0.5) * (1 - shrunk)
    found = soft_label_scores(
        np.stack([q, 1 - q], axis=1),
        np.stack([ones, k - ones], axis=1),
        Sharing.of_items(N, {"persona": np.arange(N)}),
    ).squared
    # E (p − ½)² is 1/12 where p follows the beta distribution (2, 1).
    counts.measured("squared distance", found.value)
    counts.covered("interval", found.interval, shrunk**2 / 12)


CHECKS = tuple(
    MethodCheck(
        f"{name}, {k} answers to an item",
        f"{N} items whose shares are beta-distributed; the distance over all people is known.",
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
