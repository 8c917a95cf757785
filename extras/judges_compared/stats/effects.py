"""Effects of crossed factors, where every item is asked under every combination of their levels.

Items are a sample, the levels are those that were tried.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.core.clusters import MIN_BLOCKS
from analysis.stats.core.results import FloatArray, IntArray, Reason, relabel


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
    counts as 0, and shares are of the sum after that. The test is Hotelling's.

    Examples
    --------
    >>> credits = np.array([[[1, 1], [0, 0]], [[1, 1], [0, 1]], [[1, 0], [0, 0]]])
    >>> effects = factor_effects(credits, [0, 1, 2]).effects
    >>> [[round(float(mean), 2) for mean in effect.means] for effect in effects]
    [[0.83, 0.17], [0.5, 0.5]]
    """
    table = np.asarray(credits, dtype=np.float64)
    known = ~np.isnan(table).reshape(len(table), -1).any(axis=1)
    values, n = table[known], int(known.sum())
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
    contrasts = np.array(rows)
    return np.asarray(contrasts / np.linalg.norm(contrasts, axis=1, keepdims=True))
