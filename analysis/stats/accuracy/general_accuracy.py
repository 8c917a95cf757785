"""Accuracies for people in general, and bounds for what excluded answers could change.

As in `analysis.stats.comparison.general_difference`, clusters that items share are a sample.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..comparison.general_difference import (
    GeneralDifference,
    interval_of,
    lower_share,
    t_tail,
    why_not,
)
from ..core.proportions import EMPTY, wilson_ends, wilson_interval
from ..core.results import (
    FloatArray,
    Interval,
    Proportion,
    Reason,
    check_level,
    known_rows,
    t_quantile,
)
from ..core.shared_variance import Sharing


def general_contrast(
    first: npt.ArrayLike,
    first_in: npt.ArrayLike,
    second: npt.ArrayLike,
    second_in: npt.ArrayLike,
    sharing: Sharing,
    *,
    level: float = 0.95,
    among: int = 1,
) -> GeneralDifference:
    r"""Mean of one side on its own set of items minus the mean of the other side on its own set.

    Parameters
    ----------
    first, second : array_like of float, shape (n_items,)
        Credits; NaN if the item does not count for a side.
    first_in, second_in : array_like of bool, shape (n_items,)
        The items of each side's set; they may overlap.
    sharing : Sharing
    level : float, default 0.95
    among : int, default 1
        Number of runs among which the first side was chosen as the best.

    Returns
    -------
    GeneralDifference
        Without p values of equivalence. No interval (``"no_variation"``) if each side is
        always right or always wrong on its set.

    Notes
    -----
    Linearised: the mean of :math:`n(1[i\in S_1](y_{1i}-\bar y_1)/n_1-1[i\in S_2]
    (y_{2i}-\bar y_2)/n_2)` over the n items of either set, with the variance of `Sharing.spread`.

    Examples
    --------
    >>> right, sure = [1, 1, 1, 0] * 10, [1, 1, 0, 1] * 10
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 5})
    >>> round(general_contrast(right, sure, right, [1] * 40, sharing).value, 4)
    -0.0833
    """
    check_level(level)
    ours, theirs = (np.asarray(side, dtype=np.float64) for side in (first, second))
    chosen = np.asarray(first_in, dtype=np.bool_) & ~np.isnan(ours)
    others = np.asarray(second_in, dtype=np.bool_) & ~np.isnan(theirs)
    sizes = int(chosen.sum()), int(others.sum())
    if min(sizes) == 0:
        return GeneralDifference(None, reason="empty_group")
    means = float(ours[chosen].mean()), float(theirs[others].mean())
    value = means[0] - means[1]
    either = np.flatnonzero(chosen | others)
    within = sharing.take(either)
    if reason := why_not(within):
        return GeneralDifference(value, n=either.size, interval_reason=reason)
    scores = np.where(chosen, ours - means[0], 0.0) / sizes[0]
    scores -= np.where(others, theirs - means[1], 0.0) / sizes[1]
    spread = within.spread(scores[either] * either.size)
    variance, df = float(spread.variance[0]), float(spread.degrees_of_freedom[0])
    if variance <= 0:
        return GeneralDifference(value, n=either.size, interval_reason="no_variation")
    se = math.sqrt(variance)
    half = t_quantile(df, (1 + level) / 2) * se
    lower = t_quantile(df, lower_share(level, among)) * se
    # A difference of two shares has these ends.
    high = min(value + half, 1.0)
    return GeneralDifference(
        value,
        se=se,
        df=df,
        p=2 * t_tail(df, abs(value) / se),
        interval=interval_of(max(value - half, -1.0), high, level, "general t", within),
        as_best=interval_of(max(value - lower, -1.0), high, level, "general t", within),
        n=either.size,
    )


def general_proportion(
    right: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95, among: int = 1
) -> Proportion:
    r"""Share of right answers, with the clusters that rows share as a sample.

    Parameters
    ----------
    right : array_like of bool, shape (n,)
        Whether each answer is right; one for each row of `sharing`.
    sharing : Sharing
    level : float, default 0.95
    among : int, default 1
        Number of runs from which this one is chosen as the best; see `GeneralDifference.as_best`.

    Returns
    -------
    Proportion
        No interval if there are too few clusters of a kind (``"too_few_annotators"``,
        ``"too_few_clusters"``).

    Notes
    -----
    Wilson's interval with the effective number of answers :math:`\min(n,\hat p(1-\hat p)/V)` and
    the t quantile, V and the degrees of freedom of `Sharing.spread`. If all are right or all
    are wrong, n is used.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> cell = general_proportion([1, 1, 0, 1, 1] * 8, sharing)
    >>> round(cell.interval.low, 3), round(cell.interval.high, 3)
    (0.645, 0.898)
    """
    y = np.asarray(right).astype(np.float64)
    if y.shape != (sharing.n,):
        raise ValueError(f"`right` must have shape ({sharing.n},), got {y.shape}.")
    return general_proportions(y[None, :], sharing, level=level, among=among)[0]


def general_proportions(
    right: FloatArray, sharing: Sharing, *, level: float = 0.95, among: int = 1
) -> list[Proportion]:
    """`general_proportion` of many studies with one design, as in simulations.

    Parameters
    ----------
    right : ndarray of float, shape (n_studies, n)
        1 right, 0 wrong; one row per study.
    sharing, level, among
        As for `general_proportion`.

    Returns
    -------
    list of Proportion
        One per study, in order.

    Raises
    ------
    ValueError
        If `level` is out of range.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> [cell.correct for cell in general_proportions(np.eye(40)[:2], sharing)]
    [1, 1]
    """
    check_level(level)
    n = sharing.n
    if n == 0:
        return [EMPTY] * len(right)
    counts = [int(row.sum()) for row in right]
    if reason := why_not(sharing):
        return [Proportion(k, n, k / n, interval_reason=reason) for k in counts]
    spread, proportions = sharing.spread(right), []
    for k, variance, df in zip(counts, spread.variance, spread.degrees_of_freedom, strict=True):
        p = k / n
        size = min(float(n), p * (1 - p) / float(variance)) if variance > 0 else float(n)
        wide = t_quantile(float(df), (1 + level) / 2)
        lower = t_quantile(float(df), lower_share(level, among))
        low, high = wilson_ends(p, size, lower)[0], wilson_ends(p, size, wide)[1]
        interval = interval_of(low, high, level, "general wilson", sharing)
        proportions.append(Proportion(k, n, p, interval=interval))
    return proportions


@dataclass(frozen=True)
class AccuracyBounds:
    """Smallest and largest accuracy that the excluded answers allow.

    Attributes
    ----------
    value : float or None
        Accuracy of the answers that count; None if there are none.
    low, high : float or None
        Accuracy if every excluded answer were wrong, and if every one were right.
    interval : Interval or None
        From Wilson's lower end at `low` to Wilson's upper end at `high`: it covers the accuracy
        over all answers, whatever the excluded ones are.
    n, n_excluded : int
        Answers that count, and those that do not.
    reason : str or None
        ``"empty_group"`` if there is no answer at all, so that the ends are None.
    """

    value: float | None
    low: float | None
    high: float | None
    interval: Interval | None
    n: int
    n_excluded: int
    reason: Reason | None = None


@dataclass(frozen=True)
class DifferenceBounds:
    """Smallest and largest paired difference that missing answers allow.

    Attributes
    ----------
    value : float or None
        Difference over the items that both sides answered.
    low, high : float or None
        Over all items: with every missing answer against the first side, and in its favour.
    sign_holds : bool or None
        Whether both ends have the same sign as `value`, so that exclusions cannot explain its
        direction.
    n, n_excluded : int
        Items with both, and with at least one missing.
    reason : str or None
        ``"empty_group"`` if no item has both.
    """

    value: float | None
    low: float | None
    high: float | None
    sign_holds: bool | None
    n: int
    n_excluded: int
    reason: Reason | None = None


def accuracy_bounds(correct: int, n: int, excluded: int, *, level: float = 0.95) -> AccuracyBounds:
    r"""Bound the accuracy: with all excluded answers wrong, and with all of them right.

    Parameters
    ----------
    correct, n : int
        Right answers, and answers that count.
    excluded : int
        Answers left out: unparseable, tied, skipped and so on. Do not include answers without a
        truth: they could not be right or wrong.
    level : float, default 0.95

    Returns
    -------
    AccuracyBounds

    Raises
    ------
    ValueError
        If a count is negative or `correct` exceeds `n`.

    Notes
    -----
    :math:`\left[\frac{k}{n+m},\frac{k+m}{n+m}\right]` with m answers excluded. No assumption is
    made about them, while the accuracy itself assumes that they resemble the others.

    References
    ----------
    .. [1] C. F. Manski, "Nonparametric Bounds on Treatment Effects", American Economic Review
       80(2), 1990.

    Examples
    --------
    >>> result = accuracy_bounds(60, 90, 10)
    >>> round(result.value, 3), result.low, result.high
    (0.667, 0.6, 0.7)
    """
    check_level(level)
    if not 0 <= correct <= n or excluded < 0:
        raise ValueError(f"Counts out of range: {correct} of {n}, excluded {excluded}.")
    every = n + excluded
    if every == 0:
        return AccuracyBounds(None, None, None, None, 0, 0, "empty_group")
    worst = wilson_interval(correct, every, level=level)
    best = wilson_interval(correct + excluded, every, level=level)
    interval = None
    if worst is not None and best is not None:
        interval = Interval(worst.low, best.high, level, "wilson, excluded wrong to right", every)
    return AccuracyBounds(
        value=correct / n if n else None,
        low=correct / every,
        high=(correct + excluded) / every,
        interval=interval,
        n=n,
        n_excluded=excluded,
    )


def difference_bounds(first_right: npt.ArrayLike, second_right: npt.ArrayLike) -> DifferenceBounds:
    """Bound the paired difference, with missing answers against each side in turn.

    Parameters
    ----------
    first_right, second_right : array_like of int, shape (n_items,)
        1 right, 0 wrong, -1 missing, for the same items. Leave out items without a truth.

    Returns
    -------
    DifferenceBounds

    Raises
    ------
    ValueError
        If the shapes differ or a value is out of range.

    Notes
    -----
    For `low`, a missing answer of the first side is wrong and one of the second right; for
    `high` the reverse.

    Examples
    --------
    >>> result = difference_bounds([1, 1, 1, 0, -1], [0, 1, 0, 0, 1])
    >>> result.value, result.low, result.high, result.sign_holds
    (0.5, 0.2, 0.4, True)
    """
    (first, known_1), (second, known_2) = known_rows(first_right), known_rows(second_right)
    if first.shape != second.shape:
        raise ValueError(f"The two sides differ in length: {first.size} and {second.size}.")
    both = known_1 & known_2
    n, n_excluded = int(both.sum()), int(np.sum(~both))
    if n == 0:
        return DifferenceBounds(None, None, None, None, 0, n_excluded, "empty_group")
    value = float(np.mean(first[both] - second[both]))
    low = float(np.mean(np.where(known_1, first, 0) - np.where(known_2, second, 1)))
    high = float(np.mean(np.where(known_1, first, 1) - np.where(known_2, second, 0)))
    sign_holds = bool((value > 0 and low > 0) or (value < 0 and high < 0))
    return DifferenceBounds(value, low, high, sign_holds, n, n_excluded)
