"""Certified thresholds: how often the error above one exceeds what the certificate promises."""

from collections.abc import Callable
from functools import partial

import numpy as np

from analysis.stats import certify_threshold, one_per_cluster, starting_threshold
from analysis.stats.core.results import FloatArray, IntArray

from ..checks import Counts, MethodCheck, compared, errs

DELTA = 0.1
SCALE = np.arange(50, 100)
Errors = Callable[[IntArray], FloatArray]


def calibrated(certainty: IntArray) -> FloatArray:
    return np.asarray(1 - certainty / 100, dtype=np.float64)


def too_often(certainty: IntArray) -> FloatArray:
    return np.full(certainty.shape, 0.27)


def worse_where_certain(certainty: IntArray) -> FloatArray:
    return np.where(certainty >= 85, 0.3, 0.1)


def independent(
    rng: np.random.Generator, counts: Counts, *, error_at: Errors, max_error: float
) -> None:
    certainty = rng.integers(50, 100, 300)
    correct = (rng.random(300) >= error_at(certainty)).astype(int)
    start = starting_threshold(certainty, 300)
    found = certify_threshold(
        certainty, correct, max_error=max_error, delta=DELTA, start=start
    ).threshold
    counts.happened("certificate is wrong", _is_wrong(found, error_at, max_error))


def _is_wrong(threshold: float | None, error_at: Errors, max_error: float) -> bool:
    return threshold is not None and error_at(SCALE[threshold <= SCALE]).mean() > max_error


def clustered(rng: np.random.Generator, counts: Counts, *, alike: float) -> None:
    """30 personas × 30 items whose error rate is .21 on average and differs by persona."""
    persona, question = np.repeat(np.arange(30), 30), rng.integers(0, 200, 900)
    spread = 1 / alike - 1
    error = rng.beta(0.21 * spread, 0.79 * spread, 30)[persona]
    certainty = rng.choice([60, 90], 900)
    correct = (rng.random(900) >= error).astype(int)
    keys = [f"item {number}" for number in rng.permutation(900)]
    drawn = one_per_cluster(keys, [persona, question])
    for name, rows in (
        ("one item of each persona and question: certificate is wrong", drawn),
        ("all items: certificate is wrong", np.ones(900, dtype=bool)),
    ):
        start = starting_threshold(certainty, int(rows.sum()), min_n=11)
        found = certify_threshold(
            certainty[rows], correct[rows], max_error=0.2, delta=DELTA, start=start
        )
        counts.happened(name, found.threshold is not None)


CHECKS = (
    *(
        MethodCheck(
            name,
            f"300 independent items, at most {100 * max_error:.0f} % errors promised with 90 % "
            "confidence.",
            partial(independent, error_at=error_at, max_error=max_error),
            {"certificate is wrong": errs(DELTA)},
            quick=600,
            full=20000,
        )
        for name, error_at, max_error in (
            ("calibrated certainty", calibrated, 0.25),
            ("certainty that says nothing", too_often, 0.25),
            ("worse where more certain", worse_where_certain, 0.20),
        )
    ),
    *(
        MethodCheck(
            f"items that share personas, correlation {alike:g}",
            "30 personas × 30 items; the error rate is 21 % at every certainty, 20 % is promised.",
            partial(clustered, alike=alike),
            {
                "one item of each persona and question: certificate is wrong": errs(DELTA),
                "all items: certificate is wrong": compared("false claims", DELTA),
            },
            quick=300,
            full=10000,
        )
        for alike in (0.05, 0.2)
    ),
)
