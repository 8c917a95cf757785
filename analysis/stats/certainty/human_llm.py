"""Whether the certainties of people and of a model rise together, item by item."""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from ..comparison.general_difference import interval_of, why_not
from ..core.results import (
    EstimateAndTest,
    FloatArray,
    check_level,
    mid_ranks,
    t_quantile,
)
from ..core.shared_variance import Sharing

MIN_FOR_INTERVAL = 10


def general_spearman(
    first: npt.ArrayLike, second: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95
) -> EstimateAndTest:
    r"""Rank correlation over items, with shared clusters as a sample.

    Parameters
    ----------
    first, second : array_like of float, shape (n_items,)
        Certainties; NaN is missing, and such items are left out.
    sharing : Sharing
        What the items share, including the people behind the certainties.
    level : float, default 0.95

    Returns
    -------
    EstimateAndTest
        In [-1, 1]. Undefined with fewer than two items (``"too_few_items"``) or if a side is
        constant (``"no_variation"``). No interval with fewer than 10 items or with too few
        clusters, and if the correlation is 1 or -1 (``"no_variation"``).

    Notes
    -----
    With u and v the mid-ranks as shares less one half, :math:`\rho=C/\sqrt{UV}` for
    :math:`C=\overline{uv},U=\overline{u^2},V=\overline{v^2}`. The influence of item i on C is
    :math:`u_iv_i+\overline{K(x_i,x_j)v_j}+\overline{K(y_i,y_j)u_j}` with K = 1 if the first value
    is smaller, ½ if both are equal, and that on U and V has the same form. The influence on
    :math:`\rho` follows by the delta method, its mean has the variance of `Sharing.spread`, and
    the interval is of Fisher's z with the t quantile. For independent items it is close to that of
    Bonett and Wright.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = general_spearman([90, 60, 75, 80, 55] * 8, [80, 65, 60, 90, 70] * 8, sharing)
    >>> round(found.value, 3), round(found.interval.low, 3), round(found.interval.high, 3)
    (0.5, 0.277, 0.672)
    >>> round(found.p, 5)
    0.00015
    """
    check_level(level)
    x, y = (np.asarray(side, dtype=np.float64) for side in (first, second))
    if not x.shape == y.shape == (sharing.n,):
        raise ValueError(f"Both sides must have shape ({sharing.n},), got {x.shape}, {y.shape}.")
    both = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
    x, y = x[both], y[both]
    if x.size < 2:
        return EstimateAndTest(None, "too_few_items")
    if min(np.ptp(x), np.ptp(y)) < 1e-9:
        return EstimateAndTest(None, "no_variation")
    rho, influence = _influence(x, y)
    within = sharing if both.size == sharing.n else sharing.take(both)
    if x.size < MIN_FOR_INTERVAL:
        return EstimateAndTest(rho, interval_reason="too_few_items")
    if reason := why_not(within):
        return EstimateAndTest(rho, interval_reason=reason)
    spread = within.spread(influence)
    variance = float(spread.variance[0])
    if abs(rho) > 1 - 1e-9 or variance <= 0:
        return EstimateAndTest(rho, interval_reason="no_variation")
    df = float(spread.degrees_of_freedom[0])
    se, z = math.sqrt(variance) / (1 - rho**2), math.atanh(rho)
    half = t_quantile(df, (1 + level) / 2) * se
    low, high = math.tanh(z - half), math.tanh(z + half)
    interval = interval_of(low, high, level, "general fisher z", within)
    return EstimateAndTest(rho, interval=interval, p=2 * float(special.stdtr(df, -abs(z) / se)))


def _influence(x: FloatArray, y: FloatArray) -> tuple[float, FloatArray]:
    """The correlation of ranks, and how much each item moves it."""
    n = x.size
    u, v = ((mid_ranks(side) - 0.5) / n - 0.5 for side in (x, y))
    of_both = u * v + _above(x, v) + _above(y, u)
    of_u, of_v = (share**2 + 2 * _above(side, share) for side, share in ((x, u), (y, v)))
    both, uu, vv = float(u @ v) / n, float(u @ u) / n, float(v @ v) / n
    rho = min(max(both / math.sqrt(uu * vv), -1.0), 1.0)
    moved = (of_both - of_both.mean()) / math.sqrt(uu * vv)
    moved -= rho / 2 * ((of_u - of_u.mean()) / uu + (of_v - of_v.mean()) / vv)
    return rho, moved


def _above(side: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean of the weights of all items with a higher value, with half of those of equal ones."""
    values, place = np.unique(side, return_inverse=True)
    sums = np.bincount(place, weights=weights, minlength=values.size)
    higher = sums.sum() - np.cumsum(sums)
    return np.asarray((higher + sums / 2)[place] / side.size)
