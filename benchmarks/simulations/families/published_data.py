"""Checks on real judgments: published tables as populations to draw studies from.

Patients are drawn with replacement, so the table is the truth of every study. This assumes nothing
about how people judge or disagree.
"""

from functools import cache, partial

import numpy as np

from analysis.stats import (
    Sharing,
    cohen_kappa,
    general_difference,
    general_proportion,
    krippendorff_alpha,
    percent_agreement,
)
from analysis.stats.core.results import FloatArray
from benchmarks.simulations.promises import Counts, MethodCheck, covers

# Diagnoses of 30 patients by six psychiatrists each, as counts over five categories: depression,
# personality disorder, schizophrenia, neurosis, other (Fleiss, 1971, table 1).
DIAGNOSES = np.array(
    [
        (0, 0, 0, 6, 0),
        (0, 3, 0, 0, 3),
        (0, 1, 4, 0, 1),
        (0, 0, 0, 0, 6),
        (0, 3, 0, 3, 0),
        (2, 0, 4, 0, 0),
        (0, 0, 4, 0, 2),
        (2, 0, 3, 1, 0),
        (2, 0, 0, 4, 0),
        (0, 0, 0, 0, 6),
        (1, 0, 0, 5, 0),
        (1, 1, 0, 4, 0),
        (0, 3, 3, 0, 0),
        (1, 0, 0, 5, 0),
        (0, 2, 0, 3, 1),
        (0, 0, 5, 0, 1),
        (3, 0, 0, 1, 2),
        (5, 1, 0, 0, 0),
        (0, 2, 0, 4, 0),
        (1, 0, 2, 0, 3),
        (0, 0, 0, 0, 6),
        (0, 1, 0, 5, 0),
        (0, 2, 0, 1, 3),
        (2, 0, 0, 4, 0),
        (1, 0, 0, 4, 1),
        (0, 5, 0, 1, 0),
        (4, 0, 0, 0, 2),
        (0, 2, 0, 4, 0),
        (1, 0, 5, 0, 0),
        (0, 0, 0, 0, 6),
    ]
)

# Fitness for anaesthesia of 45 patients, from 1 to 4, by five anaesthetists; the first three
# columns are repeated judgments of the first one (Dawid and Skene, 1979, table 1).
FITNESS = np.array(
    [
        (1, 1, 1, 1, 1, 1, 1),
        (3, 3, 3, 4, 3, 3, 4),
        (1, 1, 2, 2, 1, 2, 2),
        (2, 2, 2, 3, 1, 2, 1),
        (2, 2, 2, 3, 2, 2, 2),
        (2, 2, 2, 3, 3, 2, 2),
        (1, 2, 2, 2, 1, 1, 1),
        (3, 3, 3, 3, 4, 3, 3),
        (2, 2, 2, 2, 2, 2, 3),
        (2, 3, 2, 2, 2, 2, 3),
        (4, 4, 4, 4, 4, 4, 4),
        (2, 2, 2, 3, 3, 4, 3),
        (1, 1, 1, 1, 1, 1, 1),
        (2, 2, 2, 3, 2, 1, 2),
        (1, 2, 1, 1, 1, 1, 1),
        (1, 1, 1, 2, 1, 1, 1),
        (1, 1, 1, 1, 1, 1, 1),
        (1, 1, 1, 1, 1, 1, 1),
        (2, 2, 2, 2, 2, 2, 1),
        (2, 2, 2, 1, 3, 2, 2),
        (2, 2, 2, 2, 2, 2, 2),
        (2, 2, 2, 2, 2, 2, 1),
        (2, 2, 2, 3, 2, 2, 2),
        (2, 2, 1, 2, 2, 2, 2),
        (1, 1, 1, 1, 1, 1, 1),
        (1, 1, 1, 1, 1, 1, 1),
        (2, 3, 2, 2, 2, 2, 2),
        (1, 1, 1, 1, 1, 1, 1),
        (1, 1, 1, 1, 1, 1, 1),
        (1, 1, 2, 1, 1, 2, 1),
        (1, 1, 1, 1, 1, 1, 1),
        (3, 3, 3, 3, 2, 3, 3),
        (1, 1, 1, 1, 1, 1, 1),
        (2, 2, 2, 2, 2, 2, 2),
        (2, 2, 2, 3, 2, 3, 2),
        (4, 3, 3, 4, 3, 4, 3),
        (2, 2, 1, 2, 2, 3, 2),
        (2, 3, 2, 3, 2, 3, 3),
        (3, 3, 3, 3, 4, 3, 2),
        (1, 1, 1, 1, 1, 1, 1),
        (1, 1, 1, 1, 1, 1, 1),
        (1, 2, 1, 2, 1, 1, 1),
        (2, 3, 2, 2, 2, 2, 2),
        (1, 2, 1, 1, 1, 1, 1),
        (2, 2, 2, 2, 2, 2, 2),
    ]
)


N = 120


def of_patients(n: int) -> Sharing:
    return Sharing.of_items(n, {"patient": np.arange(n)})


@cache
def _agreement() -> tuple[float, float]:
    """Percent agreement and alpha over the 30 patients as a population."""
    shares = DIAGNOSES / 6
    agreed = float(((DIAGNOSES * (DIAGNOSES - 1)).sum(axis=1) / 30).mean())
    by_chance = float((shares.mean(axis=0) ** 2).sum())
    return agreed, 1 - (1 - agreed) / (1 - by_chance)


def psychiatrists(rng: np.random.Generator, counts: Counts) -> None:
    rows = DIAGNOSES[rng.integers(0, 30, N)]
    agreed, alpha = _agreement()
    found = percent_agreement(rows, rng=rng, n_draws=300)
    counts.covered("percent agreement", found.interval, agreed)
    counts.covered("alpha", krippendorff_alpha(rows, rng=rng, n_draws=300).interval, alpha)


def _shares(column: int) -> FloatArray:
    """Patients on whom an anaesthetist agrees with the first one's first judgment."""
    return np.asarray(FITNESS[:, column] == FITNESS[:, 0], dtype=np.float64)


def anaesthetists(rng: np.random.Generator, counts: Counts) -> None:
    """Two anaesthetists judge the same patients, with the first one as the truth."""
    drawn = rng.integers(0, 45, N)
    one, other = _shares(3)[drawn], _shares(4)[drawn]
    truth = float(_shares(3).mean()), float(_shares(4).mean())
    sharing = of_patients(N)
    counts.covered("agreement", general_proportion(one, sharing).interval, truth[0])
    found = general_difference(one - other, sharing)
    counts.covered("difference of two", found.interval, truth[0] - truth[1])


@cache
def _kappa(column: int) -> float:
    found = cohen_kappa(FITNESS[:, 0] - 1, FITNESS[:, column] - 1, n_options=4).value
    return float(found or 0.0)


def kappas(rng: np.random.Generator, counts: Counts, *, column: int) -> None:
    drawn = FITNESS[rng.integers(0, 45, N)] - 1
    found = cohen_kappa(drawn[:, 0], drawn[:, column], n_options=4)
    counts.covered("Cohen’s kappa", found.interval, _kappa(column))


CHECKS = (
    MethodCheck(
        "agreement of psychiatrists (Fleiss, 1971)",
        f"{N} patients drawn from the table of 30 patients with six diagnoses each.",
        psychiatrists,
        {"percent agreement": covers(), "alpha": covers()},
        quick=150,
        full=3000,
        source="published",
    ),
    MethodCheck(
        "two anaesthetists against a third (Dawid and Skene, 1979)",
        f"{N} patients drawn from the table of 45; answers are compared with the first observer.",
        anaesthetists,
        {"agreement": covers(), "difference of two": covers()},
        quick=500,
        full=10000,
        source="published",
    ),
    MethodCheck(
        "kappa of two anaesthetists (Dawid and Skene, 1979)",
        f"{N} patients drawn from the table of 45.",
        partial(kappas, column=3),
        {"Cohen’s kappa": covers(least=0.92)},
        quick=300,
        full=10000,
        source="published",
    ),
)
