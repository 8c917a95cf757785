"""Certified thresholds: how often the error above one exceeds the promised share."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy.special import expit

from analysis.stats import certainty_from_entropy
from analysis.stats.core.results import FloatArray, IntArray
from benchmarks.simulations.promises import Counts, Family, MethodCheck, compared, errs
from extras.certificates.stats.certified_thresholds import (
    Weighting,
    certify_threshold,
    fewest_at_start,
    one_per_cluster,
    starting_threshold,
)

READINGS = 5  # in each order
FINE = tuple(range(99, 0, -1))
ENTROPY, AGREEMENT, ORDERS, PRODUCT = (
    "preference entropy",
    "agreement of readings",
    "agreement of orders",
    "certainty × agreement",
)
SIGNALS = (ENTROPY, AGREEMENT, ORDERS, PRODUCT)
EASE, SD_PERSONA, SD_ITEM, POSITION = 1.6, 0.7, 1.5, 0.5


def judged(rng: np.random.Generator, persona: IntArray, name: str) -> tuple[FloatArray, IntArray]:
    """A signal in percent per item, NaN without an answer, and 1 for right answers.

    The judge leans towards the right answer, varying by persona and item, and towards the first one
    shown.
    """
    n = persona.size
    lean = EASE + rng.normal(0, SD_PERSONA, int(persona.max()) + 1)[persona]
    lean += rng.normal(0, SD_ITEM, n)
    chances = expit(lean[:, None] + POSITION * np.array([1, -1]))
    if name == ENTROPY:
        share = chances.mean(axis=1)
        return certainty_from_entropy(share), (share > 0.5).astype(np.int64)
    right = rng.binomial(READINGS, chances) / READINGS
    share = right.mean(axis=1)
    is_right = (share > 0.5).astype(np.int64)
    for_answer = np.where(is_right[:, None] == 1, right, 1 - right)
    if name == ORDERS:
        signal = for_answer.min(axis=1)
    else:
        signal = for_answer.mean(axis=1)
    if name == PRODUCT:
        signal = signal * np.clip(0.5 + np.abs(lean) / 6 + rng.normal(0, 0.1, n), 0.5, 1)
    return np.where(share == 0.5, np.nan, 100 * signal), is_right


DELTA = 0.1
WEIGHTINGS: tuple[Weighting, ...] = ("item", "cluster")
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
    """30 personas × 30 items with an error rate of .21 on average that differs by persona."""
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


def of_signal(
    rng: np.random.Generator, counts: Counts, *, name: str, max_error: float | None
) -> None:
    """240 personas × 2 items; `max_error` None: 21 % errors at every value, 20 % promised."""
    persona, question = np.repeat(np.arange(240), 2), rng.integers(0, 2000, 480)
    signal, correct = judged(rng, persona, name)
    if max_error is None:
        error = rng.beta(0.21 * 4, 0.79 * 4, 240)[persona]
        correct = (rng.random(480) >= error).astype(int)
    known = ~np.isnan(signal)
    keys = [f"item {number}" for number in rng.permutation(480)[known]]
    drawn = np.flatnonzero(known)[one_per_cluster(keys, [persona[known], question[known]])]
    found = certify_threshold(
        signal[drawn],
        correct[drawn],
        max_error=max_error or 0.2,
        delta=DELTA,
        start=starting_threshold(signal, drawn.size, min_n=fewest_at_start(drawn.size), grid=FINE),
        grid=FINE,
    ).threshold
    if max_error is None:
        counts.happened("certificate is wrong", found is not None)
    else:
        is_wrong = found is not None and true_errors(name)[int(found)] > max_error
        counts.happened("certificate is wrong", is_wrong)
        counts.happened("is certified", found is not None)


def unequal(rng: np.random.Generator, counts: Counts, *, by: Weighting, busy_errs: bool) -> None:
    """240 differing personas of 1 to 12 items; counted by `by`, the error is 21 %, not 20 %.

    Personas with many items, and frequent questions, are judged better or worse than others.
    """
    size = np.where(rng.random(240) < 0.2, rng.integers(8, 13, 240), rng.integers(1, 4, 240))
    persona = np.repeat(np.arange(240), size)
    is_popular = rng.random(persona.size) < 0.15
    question = np.where(
        is_popular, rng.integers(0, 12, persona.size), 12 + rng.integers(0, 2000, persona.size)
    )
    mean = 0.21 + _lean(by, busy_errs=busy_errs) @ np.array([size > 3, np.ones(240)])
    error = rng.beta(4 * mean, 4 * (1 - mean))[persona] * np.where(is_popular, 1.8, 0.86)
    correct = (rng.random(persona.size) >= error).astype(int)
    certainty = rng.choice([60, 90], persona.size)
    keys = [f"item {number}" for number in rng.permutation(persona.size)]
    for counted in WEIGHTINGS:
        drawn = one_per_cluster(keys, [persona, question], by=counted)
        start = starting_threshold(certainty, int(drawn.sum()), min_n=11)
        found = certify_threshold(
            certainty[drawn], correct[drawn], max_error=0.2, delta=DELTA, start=start
        )
        name = "as promised" if counted == by else "counted otherwise"
        counts.happened(f"{name}: certificate is wrong", found.threshold is not None)


def _lean(by: Weighting, *, busy_errs: bool) -> FloatArray:
    """Extra error of personas with many items, and of all; 0 on average."""
    # A fifth of personas have 10 items on average, the others 2.
    share_of_busy = 0.2 * 10 / (0.2 * 10 + 0.8 * 2) if by == "item" else 0.2
    more = 0.2 if busy_errs else -0.2
    return np.array([more, -more * share_of_busy])


@cache
def true_errors(name: str) -> dict[int, float]:
    """The share of wrong answers at or above each threshold, in 400,000 items."""
    rng = np.random.default_rng(3)
    signal, correct = judged(rng, np.arange(400_000) // 4, name)
    return {at: float(1 - correct[signal >= at].mean()) for at in FINE if (signal >= at).any()}


CHECKS = (
    *(
        MethodCheck(
            f"personas of unequal size who differ, by {name}, "
            f"{'more' if busy_errs else 'fewer'} errors where there are many items",
            "240 personas of 1 to 12 items, questions of 1 to about 9: 21 % errors, 20 % promised.",
            partial(unequal, by=by, busy_errs=busy_errs),
            {
                "as promised: certificate is wrong": errs(DELTA),
                **(
                    {"counted otherwise: certificate is wrong": compared("false claims", DELTA)}
                    if (by == "item") == busy_errs
                    else {}
                ),
            },
            quick=200,
            full=10000,
        )
        for by, name in zip(WEIGHTINGS, ("item", "persona"), strict=True)
        for busy_errs in (True, False)
    ),
    *(
        MethodCheck(
            f"{name}, {error}",
            "240 personas × 2 items, one of each persona and question drawn; " + more,
            partial(of_signal, name=name, max_error=max_error),
            {
                "certificate is wrong": errs(DELTA),
                **({"is certified": compared("mean", 1.0)} if max_error else {}),
            },
            quick=150,
            full=5000,
        )
        for name in SIGNALS
        for error, max_error, more in (
            ("errors at every value", None, "21 % errors at every value, 20 % promised."),
            ("errors where undecided", 0.1, "a judge that errs where undecided; 10 % promised."),
        )
    ),
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
            "30 personas × 30 items; 21 % errors at every certainty, 20 % promised.",
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

CERTIFIED = Family("certificates", CHECKS)
