"""Time of each statistic on studies of several sizes.

    python -m benchmarks statistics

The best of several runs, in one process. Where another package does the same work its time
stands beside ours; where that would take minutes it is one call times the number of resamples.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import krippendorff
import numpy as np

from analysis.stats import (
    Votes,
    bootstrap_agreement,
    certainty_alpha,
    dawid_skene,
    individual_accuracy,
    krippendorff_alpha,
    majority_accuracy,
    majority_vote,
    pigeonhole_bootstrap,
)

RESAMPLES = 1000
ROW = "{:<58}{:>14}{:>16}\n"


@dataclass(frozen=True)
class Timing:
    """Seconds of one task, ours and another package's."""

    task: str
    seconds: float
    library: float | None = None


def best_of(call: Callable[[], object], repetitions: int = 5) -> float:
    """Shortest time of `repetitions` calls; at least one, at most about two seconds."""
    times: list[float] = []
    while not times or (len(times) < repetitions and sum(times) < 2):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def study(n_items: int, *, k: int = 3, n_annotators: int = 30, seed: int = 0) -> Votes:
    """Simulated votes: right with .6 on average, certainties in steps of one."""
    rng = np.random.default_rng(seed)
    ease = rng.beta(2.5, 1.7, n_items)
    shape = (n_items, k)
    annotator = (np.arange(n_items)[:, None] * k + np.arange(k)) % n_annotators
    return Votes.from_long(
        np.repeat(np.arange(n_items), k),
        annotator.ravel(),
        (rng.random(shape) > ease[:, None]).astype(int).ravel(),
        np.clip(np.round(rng.normal(60, 18, shape)), 1, 100).ravel(),
    )


def as_matrix(votes: Votes, values: np.ndarray) -> np.ndarray:
    """Annotation slots by items, as the krippendorff package reads it."""
    return values.reshape(votes.n_items, -1).T.astype(float)


def alpha() -> list[Timing]:
    timings = []
    for n_items, label in [(300, "300 x 3"), (10_000, "10k x 3"), (333_333, "10^6 annotations")]:
        votes = study(n_items, n_annotators=max(30, n_items // 10))
        matrix = as_matrix(votes, votes.choice)
        one = best_of(lambda m=matrix: krippendorff.alpha(m, level_of_measurement="nominal"), 3)
        ours = best_of(
            lambda v=votes: krippendorff_alpha(
                v.counts(), n_draws=RESAMPLES, rng=np.random.default_rng(1)
            )
        )
        timings.append(
            Timing(f"alpha nominal, {RESAMPLES} resamples, {label}", ours, one * RESAMPLES)
        )
    return timings


def alpha_of_certainty() -> list[Timing]:
    small, votes = study(300), study(10_000, n_annotators=1000)
    matrix = as_matrix(small, small.certainty)
    one = best_of(lambda: krippendorff.alpha(matrix, level_of_measurement="interval"), 2)
    timings = [
        Timing("alpha interval of certainty, one value, 300 x 3",
               best_of(lambda: certainty_alpha(small)), one),
        Timing("alpha interval of certainty, one value, 10k x 3",
               best_of(lambda: certainty_alpha(votes))),
    ]  # fmt: skip
    for metric in ("interval", "ordinal"):
        seconds = best_of(
            lambda m=metric: certainty_alpha(
                votes, metric=m, n_draws=RESAMPLES, rng=np.random.default_rng(1)
            ),
            3,
        )
        task = f"alpha {metric} of certainty, {RESAMPLES} resamples, 10k x 3"
        timings.append(Timing(task, seconds))
    return timings


def agreement_of_draws() -> list[Timing]:
    timings = []
    for n_items, label in [(300, "300 x 3"), (333_333, "10^6 annotations")]:
        votes = study(n_items, n_annotators=max(30, n_items // 10))
        seconds = best_of(
            lambda v=votes: bootstrap_agreement(v, n_draws=RESAMPLES, rng=np.random.default_rng(1))
        )
        timings.append(Timing(f"agreement of {RESAMPLES} draws of 30, {label}", seconds))
    return timings


def accuracy() -> list[Timing]:
    timings = []
    for n_items, label in [(300, "300 x 3"), (10_000, "10k x 3")]:
        votes = study(n_items, n_annotators=n_items // 10)
        truth = np.zeros(n_items, dtype=int)
        timings += [
            Timing(f"individual accuracy, four cells, {label}",
                   best_of(lambda v=votes, t=truth: individual_accuracy(v, t))),
            Timing(f"majority and its accuracy, four cells, {label}",
                   best_of(lambda v=votes, t=truth: majority_accuracy(majority_vote(v), t))),
        ]  # fmt: skip
    votes = study(300)
    right = (votes.choice == 0).astype(float)
    seconds = best_of(
        lambda: pigeonhole_bootstrap(
            lambda weights: weights @ right / weights.sum(axis=1),
            votes.item,
            votes.annotator,
            n_draws=2000,
            rng=np.random.default_rng(1),
        )
    )
    return [*timings, Timing("two-way bootstrap, 2,000 resamples, 900 rows", seconds)]


def em() -> list[Timing]:
    votes = study(10_000, n_annotators=1000)
    seconds = best_of(lambda: dawid_skene(votes, tolerance=1e-6, max_iterations=100), 2)
    return [Timing("Dawid-Skene, 100 iterations, 10k x 3, 1,000 annotators", seconds)]


def readable(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds >= 120:
        return f"{seconds / 60:,.0f} min"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.2f} ms"


def main() -> None:
    sys.stdout.write(ROW.format("task", "ours", "krippendorff"))
    for group in (alpha, alpha_of_certainty, agreement_of_draws, accuracy, em):
        for timing in group():
            ours, library = readable(timing.seconds), readable(timing.library)
            sys.stdout.write(ROW.format(timing.task, ours, library))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
