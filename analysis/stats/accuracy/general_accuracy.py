"""Accuracies, and differences of accuracies on own sets of items, for people in general.

As in `analysis.stats.comparison.general_difference`, clusters that items share are a sample.
"""

import math

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import (
    GeneralDifference,
    interval_of,
    lower_share,
    t_tail,
    why_not,
)
from analysis.stats.core.checks import check_level, t_quantile
from analysis.stats.core.proportions import EMPTY, wilson_ends
from analysis.stats.core.results import FloatArray, Proportion
from analysis.stats.core.shared_variance import Sharing


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
    return GeneralDifference(
        value,
        se=se,
        df=df,
        p=2 * t_tail(df, abs(value) / se),
        interval=interval_of(value - half, value + half, level, "general t", within),
        as_best=interval_of(value - lower, value + half, level, "general t", within),
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
        Number of runs among which this one is named as the best: see `GeneralDifference.as_best`.

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
    spread, found = sharing.spread(right), []
    for k, variance, df in zip(counts, spread.variance, spread.degrees_of_freedom, strict=True):
        p = k / n
        size = min(float(n), p * (1 - p) / float(variance)) if variance > 0 else float(n)
        wide = t_quantile(float(df), (1 + level) / 2)
        lower = t_quantile(float(df), lower_share(level, among))
        low, high = wilson_ends(p, size, lower)[0], wilson_ends(p, size, wide)[1]
        interval = interval_of(low, high, level, "general wilson", sharing)
        found.append(Proportion(k, n, p, interval=interval))
    return found
