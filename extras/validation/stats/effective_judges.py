"""How many independent judges a jury is worth."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import interval_of, why_not
from analysis.stats.core.results import FloatArray, Interval, Reason, relabel, t_quantile
from analysis.stats.core.shared_variance import Sharing

FEWEST_ITEMS = 30


@dataclass(frozen=True)
class EffectiveJudges:
    """The effective number of judges, and the correlation of their errors.

    Attributes
    ----------
    value : float or None
        Between 1 and the number of judges, or above it if they err together less than by chance.
    interval : Interval or None
    correlation : float or None
        Mean over pairs of judges, on items of equal difficulty.
    correlation_interval : Interval or None
    judges : int
        Judges that count: those that are sometimes right and sometimes wrong.
    n : int
        Items that all of them answered.
    reason, interval_reason : str or None
        Why there is no value, or no interval.
    """

    value: float | None
    interval: Interval | None = None
    correlation: float | None = None
    correlation_interval: Interval | None = None
    judges: int = 0
    n: int = 0
    reason: Reason | None = None
    interval_reason: Reason | None = None


def effective_judges(
    errors: npt.ArrayLike, difficulty: npt.ArrayLike | None, sharing: Sharing
) -> EffectiveJudges:
    r"""The number of independent judges that a jury is worth.

    Parameters
    ----------
    errors : array_like of float, shape (n_items, n_judges)
        1 where a judge is wrong, 0 where it is right, NaN where that is unknown.
    difficulty : array_like of float, shape (n_items,), or None
        How much people agree on each item; NaN is a level of its own. None does not adjust.
    sharing : Sharing
        What items share.

    Returns
    -------
    EffectiveJudges
        Reasons: ``"too_few_items"`` below 30 items that all judged, ``"no_variation"`` with fewer
        than two judges that are sometimes wrong.

    Notes
    -----
    :math:`k/(1+(k-1)\bar\rho)` with the mean over pairs of the correlation of errors, after the
    mean error of items with equal `difficulty` is subtracted. The interval of the correlation is
    that of its linearisation with shared clusters; its ends give those of the number. Undefined if
    :math:`1+(k-1)\bar\rho` is not positive.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> common = rng.random((400, 1)) < 0.3
    >>> errors = np.where(rng.random((400, 9)) < 0.6, common, rng.random((400, 9)) < 0.3)
    >>> found = effective_judges(errors, None, Sharing.of_items(400, {}))
    >>> round(found.value, 1), round(found.correlation, 2), found.judges
    (2.1, 0.41, 9)
    """
    values = np.asarray(errors, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values).any(axis=1)) if values.shape[1] else np.arange(0)
    if values.shape[1] < 2:
        return EffectiveJudges(None, judges=values.shape[1], n=known.size, reason="no_variation")
    if known.size < FEWEST_ITEMS:
        return EffectiveJudges(None, judges=values.shape[1], n=known.size, reason="too_few_items")
    rest = values[known]
    level = np.zeros(known.size) if difficulty is None else np.asarray(difficulty, float)[known]
    codes, n_codes = relabel(np.nan_to_num(np.round(level, 6), nan=-1.0))
    sizes = np.bincount(codes, minlength=n_codes)
    for judge in range(rest.shape[1]):
        rest[:, judge] -= (np.bincount(codes, rest[:, judge], n_codes) / sizes)[codes]
    spread = np.sqrt((rest**2).mean(axis=0))
    varies = spread > 1e-9
    k = int(varies.sum())
    if k < 2:
        return EffectiveJudges(None, judges=k, n=known.size, reason="no_variation")
    z = rest[:, varies] / spread[varies]
    together = z.T @ z / known.size
    pairs = k * (k - 1)
    rho = float((together.sum() - np.trace(together)) / pairs)
    number = _number(k, rho)
    if number is None:
        return EffectiveJudges(
            None, correlation=rho, judges=k, n=known.size, reason="not_identified"
        )
    within = sharing.take(known)
    if reason := why_not(within):
        return EffectiveJudges(
            number, correlation=rho, judges=k, n=known.size, interval_reason=reason
        )
    ends = _ends(z, together, rho, within)
    numbers = [_number(k, end) for end in reversed(ends)]
    high = numbers[1] if numbers[1] is not None else float(k)
    return EffectiveJudges(
        number,
        interval_of(float(numbers[0] or 1.0), max(high, number), 0.95, "general t", within),
        rho,
        interval_of(*ends, 0.95, "general t", within),
        k,
        known.size,
    )


def _number(k: int, rho: float) -> float | None:
    scale = 1 + (k - 1) * rho
    return k / scale if scale > 1e-9 else None


def _ends(z: FloatArray, together: FloatArray, rho: float, sharing: Sharing) -> tuple[float, float]:
    """The 95 % interval of the mean correlation."""
    k = z.shape[1]
    squares = z**2
    product = (z.sum(axis=1) ** 2 - squares.sum(axis=1)) / (k * (k - 1))
    # A correlation also depends on both standard deviations.
    weight = (together.sum(axis=0) - np.diag(together)) / (k * (k - 1))
    spread = sharing.spread(product - (squares - 1) @ weight)
    half = t_quantile(float(spread.degrees_of_freedom[0]), 0.975) * float(
        np.sqrt(spread.variance[0])
    )
    return max(rho - half, -1.0), min(rho + half, 1.0)
