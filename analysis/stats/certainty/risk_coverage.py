"""Risk, coverage and thresholds of certainty."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.proportions import wilson_interval
from ..core.results import (
    FloatArray,
    IntArray,
    Interval,
    Proportion,
    Reason,
    distinct_values,
    seed_of,
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
class ThresholdPoint:
    """Accuracy and coverage when answers from a certainty on are accepted.

    Attributes
    ----------
    threshold : float
        Certainty, accepted from here on.
    n_at : int
        Answers exactly at the threshold, which ``>`` rejects and ``>=`` accepts.
    coverage : float
        Share of all answers that are accepted.
    accuracy : Proportion
        Right answers among the accepted, with Wilson's interval (pointwise).
    band : Interval or None
        Simultaneous band over all thresholds; None if none was requested or the threshold
        accepts too few answers for one.
    """

    threshold: float
    n_at: int
    coverage: float
    accuracy: Proportion
    band: Interval | None = None


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
    thresholds, at, hits = _groups(values, right)
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


def threshold_sweep(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    *,
    level: float = 0.95,
    n_draws: int = 1000,
    min_n: int = 30,
    rng: np.random.Generator | None = None,
) -> tuple[ThresholdPoint, ...]:
    r"""Accuracy and coverage at every certainty that occurs.

    If you choose a threshold from this table, say that you chose it after seeing the data: only the
    simultaneous band allows for that, not the pointwise intervals.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    level : float, default 0.95
        Nominal coverage of intervals and band.
    n_draws : int, default 1000
        Bootstrap resamples of items for the band.
    min_n : int, default 30
        Thresholds that accept fewer answers get no band: their resamples are too lumpy.
    rng : numpy.random.Generator, optional
        Source of randomness; without it there is no band.

    Returns
    -------
    tuple of ThresholdPoint
        Ascending thresholds; empty if nothing could be used.

    Raises
    ------
    ValueError
        If the arrays do not fit or a number is out of range.

    Notes
    -----
    The band is :math:`\hat a(\tau)\pm q\,\hat s(\tau)` with :math:`\hat s` the bootstrap standard
    deviation and :math:`q` the `level` quantile of
    :math:`\max_\tau|a^*(\tau)-\hat a(\tau)|/\hat s(\tau)`. A threshold at which all accepted
    answers are right (or wrong) has :math:`\hat s=0` and gets none.

    Examples
    --------
    >>> for point in threshold_sweep([90, 80, 80, 60], [1, 1, 0, 0]):
    ...     print(point.threshold, point.n_at, point.coverage, point.accuracy.correct)
    60.0 1 1.0 2
    80.0 2 0.75 2
    90.0 1 0.25 1
    """
    values, right, _ = usable_answers(certainty, correct)
    if values.size == 0:
        return ()
    thresholds, at, hits = _groups(values, right)
    accepted, correct_accepted = np.cumsum(at), np.cumsum(hits)
    bands: list[Interval | None] = [None] * thresholds.size
    if rng is not None:
        bands = _simultaneous_band(at, hits, level, n_draws, min_n, rng)
    points = [
        ThresholdPoint(
            threshold=float(thresholds[g]),
            n_at=int(at[g]),
            coverage=float(accepted[g] / values.size),
            accuracy=_proportion(int(correct_accepted[g]), int(accepted[g]), level),
            band=bands[g],
        )
        for g in range(thresholds.size)
    ]
    return tuple(reversed(points))


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
        at_least=_proportion(int(right[at_least].sum()), int(at_least.sum()), level),
        above=_proportion(int(right[above].sum()), int(above.sum()), level),
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
    _, at, hits = _groups(values, right)
    wanted = coverage * values.size
    before = np.cumsum(at) - at
    taken = np.clip(wanted - before, 0, at)
    return float(taken @ (hits / at) / wanted)


def _groups(values: FloatArray, right: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Distinct certainties, descending, with their answers and their right answers."""
    distinct, group = distinct_values(-values)
    at = np.bincount(group).astype(np.int64)
    hits = np.rint(np.bincount(group, weights=right)).astype(np.int64)
    return -distinct, at, hits


def _proportion(correct: int, n: int, level: float) -> Proportion:
    if n == 0:
        return Proportion(0, 0, None, "empty_group")
    return Proportion(correct, n, correct / n, interval=wilson_interval(correct, n, level=level))


def _simultaneous_band(
    at: IntArray,
    hits: IntArray,
    level: float,
    n_draws: int,
    min_n: int,
    rng: np.random.Generator,
) -> list[Interval | None]:
    """Bootstrap max-t band over the groups.

    Resampling items is a multinomial draw over (group, right or wrong), so its cost depends on
    the number of distinct certainties and not on the number of answers.
    """
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    n, groups = int(at.sum()), at.size
    cells = np.concatenate([hits, at - hits])
    draws = rng.multinomial(n, cells / n, size=n_draws)
    right = np.cumsum(draws[:, :groups], axis=1)
    accepted = right + np.cumsum(draws[:, groups:], axis=1)
    observed_n, observed = np.cumsum(at), np.cumsum(hits) / np.cumsum(at)
    resampled = np.where(accepted > 0, right / np.maximum(accepted, 1), observed)
    sd = resampled.std(axis=0, ddof=1)
    usable = (observed_n >= min_n) & (sd > 0)
    if not usable.any():
        return [None] * groups
    deviation = np.abs(resampled - observed)[:, usable] / sd[usable]
    factor = float(np.quantile(deviation.max(axis=1), level))
    return [
        Interval(
            low=max(0.0, float(observed[g] - factor * sd[g])),
            high=min(1.0, float(observed[g] + factor * sd[g])),
            level=level,
            method="simultaneous item bootstrap",
            n_items=int(observed_n[g]),
            seed=seed_of(rng),
            n_draws=n_draws,
        )
        if usable[g]
        else None
        for g in range(groups)
    ]


def unreachable_thresholds(certainty: npt.ArrayLike, correct: npt.ArrayLike) -> tuple[int, ...]:
    """List the whole certainties from 1 to 100 that no answer has.

    At such a threshold, "at least" and "above" accept the same answers, so the data cannot show
    which of the two a study meant.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.

    Returns
    -------
    tuple of int
        Ascending; empty if nothing could be used.

    Raises
    ------
    ValueError
        If the arrays do not fit or a value is out of range.

    Examples
    --------
    >>> unreachable_thresholds([90, 80, 86.5], [1, 0, 1])[78:89]
    (79, 81, 82, 83, 84, 85, 86, 87, 88, 89, 91)
    """
    values, _, _ = usable_answers(certainty, correct)
    if values.size == 0:
        return ()
    reached = set(values.tolist())
    return tuple(tau for tau in range(1, 101) if tau not in reached)
