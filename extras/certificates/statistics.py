"""Labels that a certificate needs, and tests of whether the judge has changed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from analysis.stats.certainty.calibration import usable_answers
from analysis.stats.comparison.paired import PairedCounts, tango_interval
from analysis.stats.core.results import (
    FloatArray,
    Interval,
    Reason,
    Trust,
    known_rows,
    normal_quantile,
)
from extras.certificates.stats.certified_thresholds import GRID, fewest_at_start, starting_threshold

POWER = 0.8
# More labels or anchors than this are not practical.
MOST = 100_000
_STEP = 1.1


def labels_needed(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    *,
    max_error: float,
    delta: float,
    rng: np.random.Generator,
    power: float = POWER,
    draws: int = 2_000,
    grid: Sequence[int] = GRID,
    at_least: int = 1,
) -> int | None:
    """Estimate the smallest number of items with which a threshold would be certified.

    Parameters
    ----------
    certainty, correct : array_like, shape (n,)
        As for :func:`certify_threshold`; the source of expected coverage and errors.
    max_error, delta : float
        Parameters of the test, in (0, 1); `delta` is already divided among judges.
    rng : numpy.random.Generator
        Source of the simulated samples.
    power : float, default 0.8
        Share of samples in which the first test has to pass.
    draws : int, default 2000
        Samples for each number of items.
    grid : sequence of int, optional
        Thresholds in descending order.
    at_least : int, default 1
        Smallest number to try, for example more than the available items.

    Returns
    -------
    int or None
        None if no number up to 100,000 is enough: at every threshold where the sequence could
        start, the observed share of errors is too large.

    Raises
    ------
    ValueError
        If the arrays do not fit.

    Notes
    -----
    With :math:`n` items the sequence starts as :func:`fewest_at_start` says. The samples there are
    binomial: :math:`n_\\tau` of the coverage, errors of the observed share, from at least the 30
    most certain answers, so that a few answers without an error do not count as perfect.

    Examples
    --------
    >>> certainty, correct = [90] * 40 + [60] * 40, [1] * 38 + [0, 0] + [1, 0] * 20
    >>> rng = np.random.default_rng(0)
    >>> labels_needed(certainty, correct, max_error=0.2, delta=0.1, rng=rng) in range(60, 90)
    True
    """
    values, right, _ = usable_answers(certainty, correct)
    if not values.size:
        return None

    enough = float(np.sort(values)[-min(30, values.size)])

    def passes(n: int) -> bool:
        start = starting_threshold(values, n, min_n=fewest_at_start(n), grid=grid)
        if start is None:
            return False
        accepted = values >= start
        seen = right[values >= min(start, enough)]
        error = float((seen == 0).mean())
        if error >= max_error:
            return False
        n_accepted = rng.binomial(n, float(accepted.mean()), size=draws)
        errors = rng.binomial(n_accepted, error)
        p = special.bdtr(errors, n_accepted, max_error)
        return bool(np.mean(np.where(n_accepted > 0, p, 1.0) <= delta) >= power)

    fails, n = max(0, at_least - 1), max(1, at_least)
    while n <= MOST and not passes(n):
        fails, n = n, max(n + 1, int(n * _STEP))
    if n > MOST:
        return None
    while n - fails > 1:
        middle = (n + fails) // 2
        if passes(middle):
            n = middle
        else:
            fails = middle
    return n


@dataclass(frozen=True)
class ChangePart:
    """One part of a change in accuracy.

    Attributes
    ----------
    value : float or None
        The change, now minus then.
    interval : Interval or None
        None without a value.
    reason : str or None
        Reason for a missing value.
    n : int
        Items behind it.
    lost, gained : int
        Anchors that changed from right to wrong, and from wrong to right; 0 for items.
    """

    value: float | None
    interval: Interval | None
    reason: Reason | None
    n: int
    lost: int = 0
    gained: int = 0

    @property
    def is_change(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval is not None and not self.interval.low <= 0 <= self.interval.high


def judges_part(
    right_then: npt.ArrayLike, right_now: npt.ArrayLike, *, level: float = 0.95
) -> ChangePart:
    """Change in a judge's accuracy on the same anchors.

    Parameters
    ----------
    right_then, right_now : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing. No two anchors share a persona or a question.
    level : float, default 0.95
        Nominal coverage in (0, 1).

    Returns
    -------
    ChangePart
        With Tango's interval of a paired difference, which has a width also if nothing changed.

    Raises
    ------
    ValueError
        If the arrays do not fit.

    Examples
    --------
    >>> part = judges_part([1] * 90 + [0] * 10, [1] * 70 + [0] * 30)
    >>> part.value, part.lost, part.gained, part.is_change
    (-0.2, 20, 0, True)
    """
    then, knows_then = known_rows(right_then)
    now, knows_now = known_rows(right_now)
    if then.shape != now.shape:
        raise ValueError(f"There are {then.size} earlier answers and {now.size} current ones.")
    both = knows_then & knows_now
    n = int(both.sum())
    if not n:
        return ChangePart(None, None, "empty_group", 0)
    gained = int(((then == 0) & (now == 1) & both).sum())
    lost = int(((then == 1) & (now == 0) & both).sum())
    interval = tango_interval(PairedCounts(gained, lost, n), level)
    return ChangePart((gained - lost) / n, interval, None, n, lost, gained)


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Accuracy by certainty, as an increasing step function.

    Attributes
    ----------
    certainty, accuracy : ndarray of float, shape (steps,)
        Distinct certainties in ascending order, and the fitted share of right answers.
    """

    certainty: FloatArray
    accuracy: FloatArray

    def __call__(self, certainty: npt.ArrayLike) -> FloatArray:
        """Expected accuracies; NaN where the certainty is missing."""
        found = np.interp(np.asarray(certainty, dtype=np.float64), self.certainty, self.accuracy)
        return np.asarray(found, dtype=np.float64)


def calibration_curve(certainty: npt.ArrayLike, correct: npt.ArrayLike) -> CalibrationCurve | None:
    """Fit accuracy as a non-decreasing function of certainty.

    Parameters
    ----------
    certainty, correct : array_like, shape (n,)
        As for :func:`certify_threshold`.

    Returns
    -------
    CalibrationCurve or None
        None without an answer.

    Raises
    ------
    ValueError
        If the arrays do not fit.

    Examples
    --------
    >>> curve = calibration_curve([60, 60, 80, 80], [1, 0, 1, 1])
    >>> curve([60, 70, 95]).tolist()
    [0.5, 0.75, 1.0]
    """
    values, right, _ = usable_answers(certainty, correct)
    if not values.size:
        return None
    distinct, group = np.unique(values, return_inverse=True)
    weight = np.bincount(group).astype(np.float64)
    means = np.bincount(group, weights=right) / weight
    fitted = optimize.isotonic_regression(means, weights=weight).x
    return CalibrationCurve(distinct, np.clip(fitted, 0, 1))


def items_part(
    curve: CalibrationCurve,
    certainty_then: npt.ArrayLike,
    certainty_new: npt.ArrayLike,
    *,
    anchors_then: npt.ArrayLike = (),
    anchors_now: npt.ArrayLike = (),
    level: float = 0.95,
) -> ChangePart:
    r"""Change in expected accuracy due to new items, with an unchanged judge.

    Parameters
    ----------
    curve : CalibrationCurve
        Accuracy by certainty when the judge was certified.
    certainty_then, certainty_new : array_like of float
        Of the items that certified it, and of new items; NaN is missing. No two items of either
        share a persona or a question.
    anchors_then, anchors_now : array_like of float, shape (n_anchors,)
        Certainties of the anchors then and now. Their change is the judge's and is subtracted. Omit
        them if the judge was not asked again.
    level : float, default 0.95
        Nominal coverage in (0, 1).

    Returns
    -------
    ChangePart
        ``"empty_group"`` if one of the two has fewer than two certainties.

    Raises
    ------
    ValueError
        If the anchors do not fit.

    Notes
    -----
    :math:`\bar c(s_{new})-\bar c(s_{then})-\overline{c(a_{now})-c(a_{then})}` with the curve
    :math:`c` fixed. The anchors are among the certified items, so the covariance of the last two
    terms is part of the normal interval.

    Examples
    --------
    >>> curve = calibration_curve([60] * 20 + [90] * 20, [1, 0] * 10 + [1] * 20)
    >>> part = items_part(curve, [60] * 20 + [90] * 20, [60] * 40)
    >>> round(part.value, 3), part.is_change
    (-0.25, True)
    """
    before, new = _known(curve, certainty_then), _known(curve, certainty_new)
    first, second = np.asarray(anchors_then, np.float64), np.asarray(anchors_now, np.float64)
    if first.shape != second.shape:
        raise ValueError(f"There are {first.size} earlier anchors and {second.size} current ones.")
    if min(before.size, new.size) < 2:
        return ChangePart(None, None, "empty_group", int(new.size))
    both = ~np.isnan(first) & ~np.isnan(second)
    old, change = curve(first[both]), curve(second[both]) - curve(first[both])
    value = float(new.mean() - before.mean())
    variance = new.var(ddof=1) / new.size + before.var(ddof=1) / before.size
    if change.size > 1:
        value -= float(change.mean())
        variance += change.var(ddof=1) / change.size
        variance += 2 * np.cov(old, change)[0, 1] / before.size
    half = normal_quantile(level) * float(np.sqrt(max(variance, 0.0)))
    interval = Interval(value - half, value + half, level, "normal", n_items=int(new.size))
    return ChangePart(value, interval, None, int(new.size))


def _known(curve: CalibrationCurve, certainty: npt.ArrayLike) -> FloatArray:
    found = curve(certainty)
    return found[~np.isnan(found)]


def trust_in(part: ChangePart, tolerated: float) -> Trust:
    """Test whether a change rules out a loss of accuracy above the tolerated one.

    Parameters
    ----------
    part : ChangePart
        A change, now minus then.
    tolerated : float
        Largest tolerated loss, in (0, 1).

    Returns
    -------
    Trust
        Trusted if the interval lies above the tolerated loss; inconclusive if it contains both
        that loss and no change, or if there is none; otherwise not trusted.

    Raises
    ------
    ValueError
        If `tolerated` is out of range.

    Examples
    --------
    >>> [trust_in(judges_part([1] * n, [1] * n), 0.05).value for n in (50, 100)]
    ['INCONCLUSIVE', 'TRUSTED']
    """
    if not 0 < tolerated < 1:
        raise ValueError(f"`tolerated` must lie between 0 and 1, got {tolerated}.")
    if part.interval is None:
        return Trust.INCONCLUSIVE
    if part.interval.low > -tolerated:
        return Trust.TRUSTED
    return Trust.INCONCLUSIVE if part.interval.high >= 0 else Trust.NOT_TRUSTED


def anchors_needed(part: ChangePart, tolerated: float, *, level: float = 0.95) -> int | None:
    """Number of anchors that would settle the test if they changed as often as these.

    Parameters
    ----------
    part : ChangePart
        The judge's part, see :func:`judges_part`.
    tolerated : float
        Largest tolerated loss, in (0, 1).
    level : float, default 0.95
        Nominal coverage in (0, 1).

    Returns
    -------
    int or None
        The smallest number tried, in steps of 5 %, that is not inconclusive; None without
        anchors, or beyond 100,000.

    Raises
    ------
    ValueError
        If `tolerated` is out of range.

    Examples
    --------
    >>> anchors_needed(judges_part([1] * 50, [1] * 50), 0.05)
    75
    """
    if not part.n:
        return None
    n = part.n
    while n <= MOST:
        lost, gained = (round(count * n / part.n) for count in (part.lost, part.gained))
        interval = tango_interval(PairedCounts(gained, lost, n), level)
        if (
            trust_in(ChangePart((gained - lost) / n, interval, None, n), tolerated)
            != Trust.INCONCLUSIVE
        ):
            return n
        n = max(n + 1, int(n * 1.05))
    return None
