"""Checks on real judgments: published tables as populations to draw studies from.

Patients are drawn with replacement, so the table is the truth of every study. This assumes nothing
about how people judge or disagree.
"""

from functools import cache, partial

import numpy as np

from analysis.promises import Counts, MethodCheck, covers, errs
from analysis.stats import (
    Sharing,
    certify_threshold,
    cohen_kappa,
    general_difference,
    general_proportion,
    krippendorff_alpha,
    percent_agreement,
    starting_threshold,
)
from analysis.stats.core.results import FloatArray, IntArray

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
DELTA = 0.1
NEUROSIS = 3  # the column of DIAGNOSES


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


def _split(rng: np.random.Generator, rows: IntArray, k: int) -> tuple[IntArray, IntArray]:
    """Counts of answers by k of each patient's six psychiatrists, and by the others."""
    answers = np.repeat(np.tile(np.arange(5), len(rows)), rows.ravel()).reshape(-1, 6)
    drawn = rng.permuted(answers, axis=1)
    one, other = (
        (part[:, :, None] == np.arange(5)).sum(axis=1) for part in (drawn[:, :k], drawn[:, k:])
    )
    return one, other


@cache
def _follows(threshold: int) -> float:
    """Error rate of a jury of five whose answer has `threshold` or more votes."""
    wrong = total = 0.0
    for row in DIAGNOSES:
        for sixth in range(5):
            others = row.copy()
            others[sixth] -= 1
            if row[sixth] and others.max() >= threshold:
                # The first of tied answers wins; ties have at most two votes.
                total += row[sixth]
                wrong += row[sixth] * (others.argmax() != sixth)
    return wrong / total if total else 0.0


def jury(rng: np.random.Generator, counts: Counts) -> None:
    """A jury of five psychiatrists predicts the sixth; its certainty is the number that agree."""
    rows = DIAGNOSES[rng.integers(0, 30, 300)]
    one, five = _split(rng, rows, 1)
    certainty = five.max(axis=1) * 20.0
    correct = (five.argmax(axis=1) == one.argmax(axis=1)).astype(int)
    max_error = 0.3
    start = starting_threshold(certainty, 300)
    found = certify_threshold(
        certainty, correct, max_error=max_error, delta=DELTA, start=start
    ).threshold
    wrong = found is not None and _follows(int(np.ceil(found / 20))) > max_error
    counts.happened("certificate is wrong", wrong)


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
        "a jury of five predicts the sixth (Fleiss, 1971)",
        "300 patients; a jury is trusted from the number of equal votes that 30 % errors allow.",
        jury,
        {"certificate is wrong": errs(DELTA)},
        quick=500,
        full=10000,
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
