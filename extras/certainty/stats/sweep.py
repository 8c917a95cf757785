"""Accuracy and coverage at every threshold of certainty."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.certainty.calibration import usable_answers
from analysis.stats.certainty.risk_coverage import accepted_accuracy, certainty_groups
from analysis.stats.core.results import IntArray, Interval, Proportion, seed_of


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
    thresholds, at, hits = certainty_groups(values, right)
    accepted, correct_accepted = np.cumsum(at), np.cumsum(hits)
    bands: list[Interval | None] = [None] * thresholds.size
    if rng is not None:
        bands = _simultaneous_band(at, hits, level, n_draws, min_n, rng)
    points = [
        ThresholdPoint(
            threshold=float(thresholds[g]),
            n_at=int(at[g]),
            coverage=float(accepted[g] / values.size),
            accuracy=accepted_accuracy(int(correct_accepted[g]), int(accepted[g]), level),
            band=bands[g],
        )
        for g in range(thresholds.size)
    ]
    return tuple(reversed(points))


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
