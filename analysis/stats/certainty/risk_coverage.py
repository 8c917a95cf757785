"""Risk and coverage of certainty."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.proportions import wilson_interval
from ..core.results import (
    FloatArray,
    IntArray,
    Proportion,
    Reason,
)
from .calibration import usable_answers


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Share of errors among the most certain answers, by the share accepted.

    Attributes
    ----------
    threshold : ndarray of float, shape (n_distinct,)
        Distinct certainties, descending: accept what is at least as certain.
    coverage : ndarray of float, shape (n_distinct,)
        Share of answers accepted, ascending to 1.
    risk : ndarray of float, shape (n_distinct,)
        Share of errors among them.
    aurc : float or None
        Area under the curve: mean risk over all numbers of accepted answers; 0 is best.
    e_aurc : float or None
        Excess of `aurc` over the smallest area that any order of these answers could have.
    n, n_missing : int
        Answers used and left out.
    reason : str or None
        ``"empty_group"`` if nothing could be used.
    """

    threshold: FloatArray
    coverage: FloatArray
    risk: FloatArray
    aurc: float | None
    e_aurc: float | None
    n: int
    n_missing: int
    reason: Reason | None = None


@dataclass(frozen=True)
class ThresholdCheck:
    """Accuracy under the two readings of "high certainty" at one threshold.

    Attributes
    ----------
    threshold : float
        The threshold.
    n_at : int
        Answers exactly at it; with 0, both readings are the same in these data.
    at_least, above : Proportion
        Accuracy of the answers with certainty ``>=`` and ``>`` the threshold.
    """

    threshold: float
    n_at: int
    at_least: Proportion
    above: Proportion


def risk_coverage(certainty: npt.ArrayLike, correct: npt.ArrayLike) -> RiskCoverage:
    r"""Risk-coverage curve of certainty, and the area under it.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing. Only the order matters.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.

    Returns
    -------
    RiskCoverage

    Raises
    ------
    ValueError
        If the arrays do not fit or a value is out of range.

    Notes
    -----
    With answers in descending order of certainty, :math:`AURC=\frac1n\sum_{i=1}^n r(i/n)` where
    :math:`r(i/n)` is the share of errors among the first :math:`i`. Answers of equal certainty
    each take the mean error of their group, so the order of the rows does not matter; the curve
    has points only where a group ends.

    References
    ----------
    .. [1] Geifman, Uziel and El-Yaniv, "Bias-reduced uncertainty estimation for deep neural
       classifiers", ICLR 2019.

    Examples
    --------
    >>> curve = risk_coverage([90, 80, 80, 60], [1, 1, 0, 0])
    >>> curve.coverage.tolist(), [round(float(r), 3) for r in curve.risk]
    ([0.25, 0.75, 1.0], [0.0, 0.333, 0.5])
    >>> round(curve.aurc, 6), round(curve.e_aurc, 6)
    (0.270833, 0.0625)
    """
    values, right, n_missing = usable_answers(certainty, correct)
    n = int(values.size)
    if n == 0:
        empty = np.empty(0)
        return RiskCoverage(empty, empty, empty, None, None, 0, n_missing, "empty_group")
    thresholds, at, hits = certainty_groups(values, right)
    accepted = np.cumsum(at)
    errors = np.cumsum(at - hits)
    smoothed = np.repeat((at - hits) / at, at.astype(np.intp))  # 32 bits in a browser
    ranks = np.arange(1, n + 1)
    aurc = float(np.mean(np.cumsum(smoothed) / ranks))
    best = np.cumsum(np.sort(1 - right)) / ranks
    return RiskCoverage(
        threshold=thresholds,
        coverage=accepted / n,
        risk=errors / accepted,
        aurc=aurc,
        e_aurc=aurc - float(best.mean()),
        n=n,
        n_missing=n_missing,
    )


def check_threshold(
    certainty: npt.ArrayLike, correct: npt.ArrayLike, threshold: float, *, level: float = 0.95
) -> ThresholdCheck:
    """Accuracy of high certainty under both readings of the threshold.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    threshold : float
        For example 80.
    level : float, default 0.95
        Nominal coverage of the Wilson intervals.

    Returns
    -------
    ThresholdCheck

    Raises
    ------
    ValueError
        If the arrays do not fit or a value is out of range.

    Examples
    --------
    >>> check = check_threshold([80, 80, 90], [0, 1, 1], 80)
    >>> check.n_at, check.at_least.n, check.above.n
    (2, 3, 1)
    """
    values, right, _ = usable_answers(certainty, correct)
    at_least, above = values >= threshold, values > threshold
    return ThresholdCheck(
        threshold=float(threshold),
        n_at=int(np.sum(values == threshold)),
        at_least=accepted_accuracy(int(right[at_least].sum()), int(at_least.sum()), level),
        above=accepted_accuracy(int(right[above].sum()), int(above.sum()), level),
    )


def accuracy_at_coverage(
    certainty: npt.ArrayLike, correct: npt.ArrayLike, coverage: float
) -> float | None:
    """Accuracy of the most certain answers that make up a given share of all.

    If the share cuts a group of equal certainty, the group counts with its mean, the expected value
    of a random choice among equals.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    coverage : float
        Share to accept, in (0, 1].

    Returns
    -------
    float or None
        None if nothing could be used.

    Raises
    ------
    ValueError
        If the arrays do not fit or `coverage` is out of range.

    Examples
    --------
    >>> accuracy_at_coverage([90, 80, 80, 60], [1, 1, 0, 0], 0.5)  # one and half a group
    0.75
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"`coverage` must lie in (0, 1], got {coverage}.")
    values, right, _ = usable_answers(certainty, correct)
    if values.size == 0:
        return None
    _, at, hits = certainty_groups(values, right)
    wanted = coverage * values.size
    before = np.cumsum(at) - at
    taken = np.clip(wanted - before, 0, at)
    return float(taken @ (hits / at) / wanted)


def certainty_groups(values: FloatArray, right: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Distinct certainties, descending, with their answers and their right answers."""
    distinct, group = np.unique(-values, return_inverse=True)
    at = np.bincount(group).astype(np.int64)
    hits = np.rint(np.bincount(group, weights=right)).astype(np.int64)
    return -distinct, at, hits


def accepted_accuracy(correct: int, n: int, level: float) -> Proportion:
    if n == 0:
        return Proportion(0, 0, None, "empty_group")
    return Proportion(correct, n, correct / n, interval=wilson_interval(correct, n, level=level))
