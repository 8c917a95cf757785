"""The mean of some answers minus the mean of others, which share people, personas and questions."""

import math

import numpy as np
import numpy.typing as npt

from ..core.results import check_level, t_quantile
from ..core.shared_variance import Sharing
from .general_difference import GeneralDifference, interval_of, t_tail, why_not

FEWEST_OF_A_GROUP = 10
# With fewer of an outcome in either group, the variance of that group is not known.
FEWEST_OF_AN_OUTCOME = 3


def group_contrast(
    values: npt.ArrayLike, is_first: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95
) -> GeneralDifference:
    r"""Mean of the first group's values minus that of all others.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        0 or 1, such as whether an answer is right; NaN is left out.
    is_first : array_like of bool, shape (n,)
    sharing : Sharing
        What the n rows share.
    level : float, default 0.95

    Returns
    -------
    GeneralDifference
        Without p values of equivalence. Without an interval if a group has fewer than ten values,
        or fewer than three of either kind.

    Notes
    -----
    Both groups are samples of the same clusters: a row of group g adds
    :math:`\pm(v_i-\bar v_g)/n_g` to the difference, and the sums of these over clusters give its
    variance and degrees of freedom, as in `general_difference`.

    Examples
    --------
    >>> rows = np.arange(80)
    >>> sharing = Sharing.of_items(80, {"persona": rows // 4})
    >>> found = group_contrast(rows % 3 > 0, rows % 2 == 0, sharing)
    >>> round(found.value, 3), found.n, found.interval.method
    (-0.025, 80, 'general t')
    """
    check_level(level)
    v, first = np.asarray(values, dtype=np.float64), np.asarray(is_first, dtype=np.bool_)
    if v.shape != (sharing.n,) or first.shape != v.shape:
        raise ValueError(f"`values` and `is_first` must have shape ({sharing.n},).")
    rows = np.flatnonzero(~np.isnan(v))
    v, first = v[rows], first[rows]
    groups = [v[first], v[~first]]
    if min(group.size for group in groups) == 0:
        return GeneralDifference(None, n=rows.size, reason="empty_group")
    value = float(groups[0].mean() - groups[1].mean())
    within = sharing if rows.size == sharing.n else sharing.take(rows)
    outcomes = min(min(group.sum(), (1 - group).sum()) for group in groups)
    if min(group.size for group in groups) < FEWEST_OF_A_GROUP or outcomes < FEWEST_OF_AN_OUTCOME:
        return GeneralDifference(value, n=rows.size, interval_reason="too_few_items")
    if reason := why_not(within):
        return GeneralDifference(value, n=rows.size, interval_reason=reason)
    influence = np.where(
        first, (v - groups[0].mean()) / groups[0].size, (groups[1].mean() - v) / groups[1].size
    )
    spread = within.spread(influence[None] * rows.size)
    variance, df = float(spread.variance[0]), float(spread.degrees_of_freedom[0])
    if variance <= 0:
        return GeneralDifference(value, n=rows.size, interval_reason="no_variation")
    se = math.sqrt(variance)
    half = t_quantile(df, (1 + level) / 2) * se
    ends = max(value - half, -1.0), min(value + half, 1.0)
    interval = interval_of(*ends, level, "general t", within)
    p = min(1.0, 2 * t_tail(df, abs(value) / se))
    return GeneralDifference(value, se=se, df=df, p=p, interval=interval, n=rows.size)
