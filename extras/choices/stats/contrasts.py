"""Differences with fast intervals for each unit that varies, and effects of crossed factors.

Intervals are closed forms of resampling whole units, so that dozens of differences cost no more
than one bootstrap. For crossed factors, every item is asked under every combination of their
levels; items are a sample, the levels are those that were tried.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.core.clusters import MIN_BLOCKS
from analysis.stats.core.results import (
    BoolArray,
    FloatArray,
    IntArray,
    Reason,
    check_level,
    relabel,
    t_quantile,
)


@dataclass(frozen=True, eq=False)
class Clusters:
    """Units of items that are resampled as a whole.

    Attributes
    ----------
    codes : ndarray of int, shape (n_items,)
        Unit of each item, ``0..n-1``.
    n : int
        Number of units.
    """

    codes: IntArray
    n: int

    @classmethod
    def of(cls, codes: npt.ArrayLike) -> "Clusters":
        """Build from any codes; equal ones are one unit."""
        return cls(*relabel(codes))

    def spread(self, scores: FloatArray, counted: BoolArray) -> tuple[float, float] | None:
        """Variance of an error that is the sum of `scores`, and its degrees of freedom.

        Only units with a `counted` item are used; None with fewer than 8 of them.
        """
        present = np.bincount(self.codes[counted], minlength=self.n) > 0
        n = int(present.sum())
        if n < MIN_BLOCKS:
            return None
        sums = np.bincount(self.codes, weights=scores, minlength=self.n)
        return n / (n - 1) * float(sums @ sums), n - 1


class Unit(Protocol):
    """What varies: units of items, or links between them."""

    def spread(self, scores: FloatArray, counted: BoolArray) -> tuple[float, float] | None: ...


@dataclass(frozen=True)
class Contrast:
    """Difference with its intervals under one specification.

    Attributes
    ----------
    value : float or None
        First side minus second.
    ends, narrow : tuple of float or None
        t intervals at `level` and at twice its error; the second is compared with a margin.
    p : float or None
        Two-sided p value of no difference.
    n, n_second : int
        Number of items of the first and of the second side.
    se, degrees_of_freedom : float or None
        Standard error and degrees of freedom of the intervals.
    reason : str or None
        Why `value` is None, or why it has no intervals: ``"empty_group"``, ``"too_few_items"``
        (fewer than 8 units) or ``"no_variation"``.
    """

    value: float | None
    ends: tuple[float, float] | None
    narrow: tuple[float, float] | None
    p: float | None
    n: int
    n_second: int
    reason: Reason | None = None
    se: float | None = None
    degrees_of_freedom: float | None = None

    def p_equivalence(self, margin: float) -> float | None:
        """The larger p value of the two one-sided tests of a difference beyond the margin."""
        if self.value is None or self.se is None or self.degrees_of_freedom is None:
            return None
        df = self.degrees_of_freedom
        return float(special.stdtr(df, (abs(self.value) - margin) / self.se))


def paired_contrast(
    first: npt.ArrayLike, second: npt.ArrayLike, unit: Unit, *, level: float = 0.95
) -> Contrast:
    r"""Mean difference of two sides' credits over the items that both have.

    Parameters
    ----------
    first, second : array_like of float, shape (n_items,)
        Credit from 0 to 1; NaN if the item does not count for a side.
    unit : Clusters
        The unit that varies.
    level : float, default 0.95

    Returns
    -------
    Contrast

    Notes
    -----
    :math:`\bar d \pm t\sqrt V` with scores :math:`(d_i - \bar d)/n` summed within units.
    With items as units it is the paired t test.

    Examples
    --------
    >>> one = paired_contrast([1, 0, 1, 1] * 5, [0, 0, 1, 1] * 5, Clusters.of(range(20)))
    >>> one.value, one.n, round(one.p, 3)
    (0.25, 20, 0.021)
    """
    ours, theirs = floats(first), floats(second)
    both = ~np.isnan(ours) & ~np.isnan(theirs)
    n = int(both.sum())
    if n == 0:
        return empty_contrast(0, 0)
    difference = np.where(both, ours - theirs, 0.0)
    value = float(difference.sum()) / n
    scores = np.where(both, difference - value, 0.0) / n
    return contrast_of(value, scores, both, unit, (n, n), level)


def contrast_of(
    value: float,
    scores: FloatArray,
    counted: BoolArray,
    unit: Unit,
    sizes: tuple[int, int],
    level: float,
) -> Contrast:
    """A difference whose error is the sum of `scores` of the `counted` items."""
    check_level(level)
    spread = unit.spread(scores, counted)
    if spread is None:
        return Contrast(value, None, None, None, *sizes, "too_few_items")
    variance, degrees_of_freedom = spread
    se = math.sqrt(variance)
    # Rounding leaves about 1e-17 where the units are exactly equal.
    if se < 1e-12:
        return Contrast(value, None, None, None, *sizes, "no_variation")
    half, less = (t_quantile(degrees_of_freedom, share) * se for share in ((1 + level) / 2, level))
    return Contrast(
        value,
        (value - half, value + half),
        (value - less, value + less),
        float(2 * special.stdtr(degrees_of_freedom, -abs(value) / se)),
        *sizes,
        se=se,
        degrees_of_freedom=degrees_of_freedom,
    )


def empty_contrast(n: int, n_second: int) -> Contrast:
    return Contrast(None, None, None, None, n, n_second, "empty_group")


def floats(values: npt.ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True)
class FactorEffect:
    """Effect of one factor.

    Attributes
    ----------
    means : tuple of float
        Mean credit of each level over all levels of the other factors.
    variance : float
        Estimated variance of the levels' true means: that of `means` minus the part due to sampling
        of items, at least 0.
    share : float or None
        `variance` over that of all combinations; None if nothing varies beyond the sampling.
    p : float or None
        Hotelling's test that all levels are equal, over clusters.
    reason : str or None
        Why `p` is None: ``"too_few_items"`` (fewer than 8 clusters, or no more than levels) or
        ``"no_variation"``.
    """

    means: tuple[float, ...]
    variance: float
    share: float | None
    p: float | None
    reason: Reason | None = None


@dataclass(frozen=True)
class FactorEffects:
    """Effects of all factors.

    Attributes
    ----------
    effects : tuple of FactorEffect
        In the order of the factors.
    low, high : float or None
        The smallest and largest mean of a combination, as observed.
    variance, rest : float or None
        Variance of the combinations' true means, and the part that only combinations explain.
    rest_share : float or None
        `rest` over `variance`; None if nothing varies beyond the sampling.
    n_items, n_clusters : int
        Items with a credit under every combination, and their clusters.
    reason : str or None
        ``"empty_group"`` without such an item.
    """

    effects: tuple[FactorEffect, ...]
    low: float | None
    high: float | None
    variance: float | None
    rest: float | None
    rest_share: float | None
    n_items: int
    n_clusters: int
    reason: Reason | None = None


def factor_effects(credits: npt.ArrayLike, clusters: npt.ArrayLike) -> FactorEffects:
    r"""Split the variance of crossed conditions into factors, excluding that of items.

    Parameters
    ----------
    credits : array_like of float, shape (n_items, levels of factor 1, levels of factor 2, …)
        Credit from 0 to 1 of each item under each combination; an item with a NaN is left out.
    clusters : array_like of int, shape (n_items,)
        Items of one cluster, such as a persona, vary together.

    Returns
    -------
    FactorEffects

    Notes
    -----
    With :math:`e` the levels' means less their mean, and :math:`V` the cluster-robust covariance
    of :math:`e` (:math:`G/(G-1)` times the squares of the clusters' sums), :math:`e^\top e -
    \mathrm{tr}\,V` is unbiased for the sum of the squared true effects. All factors and the rest
    add up to the variance of all combinations, because the design is balanced; a negative estimate
    counts as 0, and shares are of the sum after that. The test is Hotelling's: with :math:`L`
    levels, :math:`T^2 (G-L+1)/((G-1)(L-1))` is F with :math:`L-1` and :math:`G-L+1` degrees of
    freedom; with two levels and items as clusters it is the paired t test.

    References
    ----------
    Hotelling (1931), The generalization of Student's ratio. Cornfield and Tukey (1956), Average
    values of mean squares in factorials.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> credits = rng.random((400, 2, 3)) < np.array([[0.8], [0.6]])
    >>> found = factor_effects(credits, np.arange(400))
    >>> [round(mean, 2) for mean in found.effects[0].means], found.effects[0].p < 0.001
    ([0.81, 0.6], True)
    >>> found.effects[0].share > 0.9, found.effects[1].p > 0.05
    (True, True)
    """
    given = np.asarray(credits, dtype=np.float64)
    known = ~np.isnan(given).reshape(len(given), -1).any(axis=1)
    values, n = given[known], int(known.sum())
    if n == 0:
        return FactorEffects((), None, None, None, None, None, 0, 0, "empty_group")
    codes, n_clusters = relabel(np.asarray(clusters)[known])
    factors = range(1, values.ndim)
    parts = [
        _Contrasts.of(values.mean(axis=tuple(a for a in factors if a != axis)), codes, n_clusters)
        for axis in factors
    ]
    cells = _Contrasts.of(values.reshape(n, -1), codes, n_clusters)
    rest = max(0.0, cells.variance - sum(part.variance for part in parts))
    variances = [max(0.0, part.variance) for part in parts]
    total = sum(variances) + rest
    effects = []
    for part, variance in zip(parts, variances, strict=True):
        p, reason = part.test()
        share = variance / total if total > 0 else None
        effects.append(FactorEffect(part.means, variance, share, p, reason))
    return FactorEffects(
        tuple(effects),
        min(cells.means),
        max(cells.means),
        total,
        rest,
        rest / total if total > 0 else None,
        n,
        n_clusters,
    )


@dataclass(frozen=True, eq=False)
class _Contrasts:
    """Levels' means minus their mean, `effects`, and their covariance."""

    means: tuple[float, ...]
    effects: FloatArray
    covariance: FloatArray
    n_clusters: int

    @classmethod
    def of(cls, values: FloatArray, codes: IntArray, n_clusters: int) -> "_Contrasts":
        """From the credits of each item at each level, shape (items, levels)."""
        means = values.mean(axis=0)
        own = values - values.mean(axis=1, keepdims=True)
        effects = own.mean(axis=0)
        sums = np.zeros((n_clusters, values.shape[1]))
        np.add.at(sums, codes, own - effects)
        # With one cluster the test is undefined, but effects are kept.
        scale = n_clusters / max(1, n_clusters - 1)
        covariance = scale * (sums.T @ sums) / len(values) ** 2
        return cls(tuple(means.tolist()), effects, covariance, n_clusters)

    @property
    def variance(self) -> float:
        """Of the true means; an unbiased estimate, which can be below 0."""
        observed = float(self.effects @ self.effects)
        return (observed - float(np.trace(self.covariance))) / self.effects.size

    def test(self) -> tuple[float | None, Reason | None]:
        levels, clusters = self.effects.size, self.n_clusters
        if clusters < max(MIN_BLOCKS, levels + 1) or levels < 2:
            return None, "too_few_items"
        basis = _orthogonal_contrasts(levels)
        effects, covariance = basis @ self.effects, basis @ self.covariance @ basis.T
        if np.linalg.matrix_rank(covariance, tol=1e-14, hermitian=True) < levels - 1:
            return None, "no_variation"
        squared = float(effects @ np.linalg.solve(covariance, effects))
        between, within = levels - 1, clusters - levels + 1
        f = squared * within / ((clusters - 1) * between)
        return float(special.fdtrc(between, within, f)), None


def _orthogonal_contrasts(levels: int) -> FloatArray:
    """Orthonormal rows that are orthogonal to a constant."""
    rows = [[1.0] * k + [-float(k)] + [0.0] * (levels - k - 1) for k in range(1, levels)]
    found = np.array(rows)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))
