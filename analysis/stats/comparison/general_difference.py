"""Differences between two sides for items, people, personas and questions in general.

These statistics allow for everything that items share (`analysis.stats.core.shared_variance`),
so they are about people, personas and questions that were not in the study.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from ..core.results import (
    FloatArray,
    Interval,
    Reason,
    check_level,
    clustered_interval,
    root_between,
    t_quantile,
)
from ..core.shared_variance import ANNOTATOR, FEW_CLUSTERS, Sharing
from .paired import tango_score

# With fewer items, or equivalent items, that differ from the most frequent result: score method.
FEW_OTHERS = 10


@dataclass(frozen=True)
class GeneralDifference:
    """Mean difference of two sides, for people, personas and questions in general.

    Attributes
    ----------
    value : float or None
        Mean of the differences.
    se, df : float or None
        Standard error and degrees of freedom of the t distribution.
    p : float or None
        Two-sided p value of no difference.
    interval : Interval or None
        At `level`.
    narrow : Interval or None
        At ``2 * level - 1``, for the comparison with a margin.
    as_best : Interval or None
        At `level`, if this is chosen as the best of m runs: its lower end leaves out
        :math:`(1-level)/m` instead of half of :math:`1-level`, because the best of several tends to
        be overestimated.
    p_equivalence : float or None
        The larger p value of the two one-sided tests that the difference is beyond the margin.
    n : int
        Number of items behind the difference.
    reason : str or None
        Why `value` is None.
    interval_reason : str or None
        Why there is no inference although `value` is defined: ``"too_few_annotators"``,
        ``"too_few_clusters"`` or ``"too_few_items"``.
    """

    value: float | None
    se: float | None = None
    df: float | None = None
    p: float | None = None
    interval: Interval | None = None
    narrow: Interval | None = None
    as_best: Interval | None = None
    p_equivalence: float | None = None
    n: int = 0
    reason: Reason | None = None
    interval_reason: Reason | None = None


def general_difference(
    differences: npt.ArrayLike,
    sharing: Sharing,
    *,
    margin: float = 0.05,
    level: float = 0.95,
    among: int = 1,
) -> GeneralDifference:
    r"""First side minus second side, with shared clusters as a sample.

    Parameters
    ----------
    differences : array_like of float, shape (n_items,)
        1, 0 or -1 (or between, if ties count half); NaN if a side is missing.
    sharing : Sharing
        What the items share, including the people who voted.
    margin : float, default 0.05
        Differences inside ``(-margin, margin)`` count as equivalent; choose it before the data.
    level : float, default 0.95
    among : int, default 1
        Number of runs from which the best is chosen.

    Returns
    -------
    GeneralDifference

    Notes
    -----
    :math:`\bar d\pm t_f\sqrt V` with V and f of `Sharing.spread`. If fewer than 10 items, or the
    equivalent of 10, differ from the most frequent result, it is Tango's score statistic with the
    effective number of items :math:`n_e=\min(n,nV_1/V)` in place of n, where :math:`V_1` is the
    variance of independent items, and the same t distribution: it has a width if nothing varies.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = general_difference([1, 0, 0, -1, 1, 0, 1, 0] * 5, sharing)
    >>> round(found.value, 3), round(found.p, 3), found.interval.method
    (0.25, 0.023, 'general t')
    >>> found = general_difference([0] * 40, sharing)
    >>> found.interval.method, round(found.interval.high, 3), found.p
    ('general score', 0.093, 1.0)
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.shape != (sharing.n,):
        raise ValueError(f"`differences` must have shape ({sharing.n},), got {d.shape}.")
    known = np.flatnonzero(~np.isnan(d))
    within = sharing if known.size == sharing.n else sharing.take(known)
    return general_differences(d[None, known], within, margin=margin, level=level, among=among)[0]


def general_differences(
    differences: FloatArray,
    sharing: Sharing,
    *,
    margin: float = 0.05,
    level: float = 0.95,
    among: int = 1,
) -> list[GeneralDifference]:
    """`general_difference` of many studies with one design, as in simulations.

    Parameters
    ----------
    differences : ndarray of float, shape (n_studies, n_items)
        As for `general_difference`, one row per study, without NaN.
    sharing : Sharing
        What the items share, including the people who voted.
    margin, level, among
        As for `general_difference`.

    Returns
    -------
    list of GeneralDifference
        One per study, in order.

    Raises
    ------
    ValueError
        If `margin` or `level` is out of range.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> [round(found.value, 2) for found in general_differences(np.eye(40)[:2], sharing)]
    [0.03, 0.03]
    """
    check_level(level)
    if not 0 < margin < 1:
        raise ValueError(f"`margin` must lie in (0, 1), got {margin}.")
    n = differences.shape[1]
    if n == 0:
        return [GeneralDifference(None, reason="empty_group")] * len(differences)
    if reason := why_not(sharing):
        return [
            GeneralDifference(float(value), n=n, interval_reason=reason)
            for value in differences.mean(axis=1)
        ]
    spread = sharing.spread(differences)
    tests = _Tests(sharing, margin, level, among)
    return [
        tests.of(d, float(variance), float(df))
        for d, variance, df in zip(
            differences, spread.variance, spread.degrees_of_freedom, strict=True
        )
    ]


@dataclass(frozen=True, eq=False)
class _Tests:
    sharing: Sharing
    margin: float
    level: float
    among: int

    def of(self, d: FloatArray, variance: float, df: float) -> GeneralDifference:
        n, value = d.size, float(d.mean())
        only_first, only_second = float(d[d > 0].sum()), float(-d[d < 0].sum())
        independent = float(((d - value) ** 2).sum()) / n**2
        share = min(1.0, independent / variance) if variance > 0 else 1.0
        commonest = max(only_first, only_second, n - only_first - only_second)
        if variance <= 0 or (n - commonest) * share < FEW_OTHERS:
            counts = only_first * share, only_second * share, n * share
            return self._by_score(counts, value, variance, df, n)
        return self._by_t(value, variance, df, n)

    def _by_t(self, value: float, variance: float, df: float, n: int) -> GeneralDifference:
        se = math.sqrt(variance)

        def ends(low: float, high: float) -> tuple[float, float]:
            return max(value - low * se, -1.0), min(value + high * se, 1.0)

        p = 2 * t_tail(df, abs(value) / se)
        p_equivalence = t_tail(df, (self.margin - abs(value)) / se)
        return self._found(value, se, df, p, p_equivalence, ends, "general t", n)

    def _by_score(
        self, counts: tuple[float, float, float], value: float, variance: float, df: float, n: int
    ) -> GeneralDifference:
        against, below, above = (
            tango_score(*counts, at) for at in (0.0, -self.margin, self.margin)
        )

        def ends(low: float, high: float) -> tuple[float, float]:
            return score_end(*counts, low), score_end(*counts, -high)

        p = 2 * t_tail(df, abs(against))
        p_equivalence = max(t_tail(df, below), t_tail(df, -above))
        se = math.sqrt(variance)
        return self._found(value, se, df, p, p_equivalence, ends, "general score", n)

    def _found(
        self,
        value: float,
        se: float,
        df: float,
        p: float,
        p_equivalence: float,
        ends: Callable[[float, float], tuple[float, float]],
        method: str,
        n: int,
    ) -> GeneralDifference:
        wide, narrow = t_quantile(df, (1 + self.level) / 2), t_quantile(df, self.level)
        lower = t_quantile(df, lower_share(self.level, self.among))
        tests = (
            interval_of(*ends(wide, wide), self.level, method, self.sharing),
            interval_of(*ends(narrow, narrow), round(2 * self.level - 1, 9), method, self.sharing),
            interval_of(*ends(lower, wide), self.level, method, self.sharing),
        )
        return GeneralDifference(value, se, df, min(p, 1.0), *tests, min(p_equivalence, 1.0), n)


def detectable_difference(difference: GeneralDifference, *, among: int = 1) -> float | None:
    r"""Smallest true difference that an equally precise study finds four times out of five.

    Parameters
    ----------
    found : GeneralDifference
    among : int, default 1
        Number of runs that the test is adjusted for, as if this one had the smallest p value.

    Returns
    -------
    float or None
        None without a standard error, or if it would be more than 1.

    Notes
    -----
    :math:`(t_{f,1-0.05/2m}+t_{f,0.8})\sqrt V`.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = general_difference([1, 0, 0, -1, 1, 0, 1, 0] * 5, sharing)
    >>> round(detectable_difference(found), 2)
    0.3
    """
    if not difference.se or difference.df is None:
        return None
    wanted = t_quantile(difference.df, 1 - (1 - 0.95) / (2 * among)) + t_quantile(
        difference.df, 0.8
    )
    gap = wanted * difference.se
    return gap if gap <= 1 else None


def why_not(sharing: Sharing) -> Reason | None:
    """Reason why no conclusion about others is possible, or None."""
    if sharing.n < 2:
        return "too_few_items"
    if ANNOTATOR in sharing.short:
        return "too_few_annotators"
    return "too_few_clusters" if sharing.short else None


def t_tail(df: float, at: float) -> float:
    """Probability of a larger value."""
    return float(special.stdtr(df, -at))


def lower_share(level: float, among: int) -> float:
    """1 minus the share that the lower end leaves out, for the best of `among`."""
    return 1 - (1 - level) / max(2, among)


def score_end(b: float, c: float, n: float, target: float) -> float:
    """The difference at which Tango's score statistic is `target`: below the estimate where > 0."""
    observed = (b - c) / n
    edge = -1.0 if target > 0 else 1.0
    if observed * edge >= 1:
        return edge

    def excess(at: float) -> float:
        return min(max(tango_score(b, c, n, at) - target, -1e6), 1e6)

    return root_between(excess, *sorted((edge, observed)))


def interval_of(low: float, high: float, level: float, method: str, sharing: Sharing) -> Interval:
    clusters = sharing.n, sharing.n_clusters, sharing.used, FEW_CLUSTERS
    return clustered_interval(low, high, level, method, *clusters)
