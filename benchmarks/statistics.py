"""Time of each statistic on studies of several sizes.

    python -m benchmarks statistics

It shows the best of several runs, in one process. If another package does the same work, its time
is shown next to ours; if that would take minutes, it is one call times the number of resamples,
marked with “~”. Bars are the project's promises on two cores.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import krippendorff
import numpy as np
from statsmodels.stats.contingency_tables import cochrans_q

from analysis.stats import (
    Votes,
    alt_test,
    bootstrap_agreement,
    certainty_alpha,
    individual_accuracy,
    krippendorff_alpha,
    majority_accuracy,
    majority_vote,
    pigeonhole_bootstrap,
)
from extras.judges_compared.stats import cochran_q, compare_judges
from extras.label_models.stats import dawid_skene

RESAMPLES = 1000
ROW = "{:<58}{:>12}{:>10}{:>14}  {}\n"


@dataclass(frozen=True)
class Timing:
    """Seconds of one task: ours, the limit, and another package's.

    `scaled` is set where the other time is one call times the number of resamples.
    """

    task: str
    seconds: float
    library: float | None = None
    package: str = ""
    bar: float | None = None
    scaled: bool = True


def best_of(call: Callable[..., object], *args: object, repetitions: int = 5) -> float:
    """Shortest time of `repetitions` calls; at least one, at most about two seconds."""
    times: list[float] = []
    while not times or (len(times) < repetitions and sum(times) < 2):
        start = time.perf_counter()
        call(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def study(n_items: int, *, k: int = 3, n_annotators: int = 30, seed: int = 0) -> Votes:
    """Simulate votes: right with .6 on average, certainties in steps of one."""
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
    """Annotation slots by items, in the format of the krippendorff package."""
    return values.reshape(votes.n_items, -1).T.astype(float)


def krippendorff_package(matrix: np.ndarray, metric: Literal["nominal", "interval"]) -> float:
    return float(krippendorff.alpha(matrix, level_of_measurement=metric))


def alpha() -> list[Timing]:
    timings = []
    for n_items, label in [(300, "300 x 3"), (10_000, "10k x 3"), (333_333, "10^6 annotations")]:
        votes = study(n_items, n_annotators=max(30, n_items // 10))
        matrix = as_matrix(votes, votes.choice)
        one = best_of(krippendorff_package, matrix, "nominal", repetitions=3)
        ours = best_of(
            lambda v: krippendorff_alpha(
                v.counts(), n_draws=RESAMPLES, rng=np.random.default_rng(1)
            ),
            votes,
        )
        bar = 1.0 if n_items == 333_333 else None
        task = f"alpha nominal, {RESAMPLES} resamples, {label}"
        timings.append(Timing(task, ours, one * RESAMPLES, "krippendorff", bar))
    return timings


def alpha_of_certainty() -> list[Timing]:
    timings = []
    for n_items, label in [(300, "300 x 3"), (10_000, "10k x 3")]:
        votes = study(n_items, n_annotators=n_items // 10)
        matrix = as_matrix(votes, votes.certainty)
        one = best_of(krippendorff_package, matrix, "interval", repetitions=1)
        ours = best_of(certainty_alpha, votes)
        task = f"alpha interval of certainty, one value, {label}"
        timings.append(Timing(task, ours, one, "krippendorff", scaled=False))
    for metric, other, bar in (("interval", one * RESAMPLES, 0.2), ("ordinal", None, None)):
        seconds = best_of(
            lambda m: certainty_alpha(
                votes, metric=m, n_draws=RESAMPLES, rng=np.random.default_rng(1)
            ),
            metric,
        )
        task = f"alpha {metric} of certainty, {RESAMPLES} resamples, 10k x 3"
        timings.append(Timing(task, seconds, other, "krippendorff", bar))
    return timings


def choice_loop(votes: Votes) -> list[float]:
    """The paper's draws in their simplest form: one `Generator.choice` per draw."""
    rng = np.random.default_rng(1)
    choice = votes.choice.reshape(votes.n_items, -1)
    draws = []
    for _ in range(RESAMPLES):
        items = rng.choice(votes.n_items, 30, replace=False)
        pairs = rng.permuted(np.tile(np.arange(choice.shape[1]), (30, 1)), axis=1)[:, :2]
        answers = np.take_along_axis(choice[items], pairs, axis=1)
        draws.append(float((answers[:, 0] == answers[:, 1]).mean()))
    return draws


def agreement_of_draws() -> list[Timing]:
    timings = []
    for n_items, label in [(300, "300 x 3"), (333_333, "10^6 annotations")]:
        votes = study(n_items, n_annotators=max(30, n_items // 10))
        seconds = best_of(
            lambda v: bootstrap_agreement(v, n_draws=RESAMPLES, rng=np.random.default_rng(1)),
            votes,
            repetitions=25,
        )
        loop = best_of(choice_loop, votes, repetitions=2)
        bar = 0.01 if n_items == 333_333 else None
        task = f"agreement of {RESAMPLES} draws of 30, {label}"
        timings.append(Timing(task, seconds, loop, "numpy loop", bar, scaled=False))
    return timings


def comparisons() -> list[Timing]:
    rng = np.random.default_rng(3)
    right = (rng.random((10_000, 4)) < [0.7, 0.72, 0.65, 0.71]).astype(int)
    votes = study(10_000, n_annotators=100)
    judge = rng.integers(0, 2, 10_000)
    return [
        Timing(
            "Cochran's Q, 10k items, 4 judges",
            best_of(cochran_q, right),
            best_of(cochrans_q, right),
            "statsmodels",
            scaled=False,
        ),
        Timing(
            "four judges: McNemar, Tango, Holm, ranks, 10k items", best_of(compare_judges, right)
        ),
        Timing(
            "alternative annotator test, 10k x 3, 100 people",
            best_of(lambda: alt_test(votes, judge, epsilon=0.1)),
        ),
    ]


def accuracy() -> list[Timing]:
    timings = []
    for n_items, label in [(300, "300 x 3"), (10_000, "10k x 3")]:
        votes = study(n_items, n_annotators=n_items // 10)
        truth = np.zeros(n_items, dtype=int)
        timings += [
            Timing(
                f"individual accuracy, four cells, {label}",
                best_of(individual_accuracy, votes, truth),
            ),
            Timing(
                f"majority and its accuracy, four cells, {label}",
                best_of(lambda v, t: majority_accuracy(majority_vote(v), t), votes, truth),
            ),
        ]
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
    timings.append(Timing("two-way bootstrap, 2,000 resamples, 900 rows", seconds))
    return timings


def em() -> list[Timing]:
    votes = study(10_000, n_annotators=1000)
    seconds = best_of(lambda: dawid_skene(votes), repetitions=2)
    return [Timing("Dawid-Skene until it settles, 10k x 3, 1,000 annotators", seconds)]


def readable(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds >= 120:
        return f"{seconds / 60:,.0f} min"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.2f} ms"


def main() -> None:
    sys.stdout.write(ROW.format("task", "ours", "at most", "others", ""))
    groups = (
        *(alpha, alpha_of_certainty, agreement_of_draws, accuracy),
        *(comparisons, em),
    )
    for group in groups:
        for timing in group():
            other = readable(timing.library)
            if timing.library is not None and timing.scaled:
                other = f"~{other}"
            sys.stdout.write(
                ROW.format(
                    timing.task,
                    readable(timing.seconds),
                    readable(timing.bar),
                    other,
                    timing.package if timing.library is not None else "",
                )
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
