"""Shares and means of rows that are clustered in several ways.

Answers share an item and a person, but items also share personas and questions: a hundred items
about ten personas say less about personas in general than items about a hundred personas.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from .proportions import (
    EMPTY,
    FEW_CLUSTERS,
    clustered_variance,
    effective_n,
    wilson_ends,
)
from .results import (
    Estimate,
    FloatArray,
    IntArray,
    Proportion,
    check_level,
    clustered_interval,
    relabel,
    t_quantile,
)

ClusterLabels = Mapping[str, npt.ArrayLike]


@dataclass(frozen=True)
class MultiwayVariance:
    """Variance of a mean under several clusterings.

    Attributes
    ----------
    variance : float
        By inclusion and exclusion over `used`, at least the largest of `by`.
    by : mapping of str to float
        Variance clustered by each one alone, with the factor G / (G - 1); those with a single
        cluster are left out.
    n_clusters : mapping of str to int
        Number of distinct clusters of each clustering.
    used : tuple of str
        Clusterings with at least two clusters that are not nested in another: items with one
        persona each are nested in personas and add nothing.
    """

    variance: float
    by: Mapping[str, float]
    n_clusters: Mapping[str, int]
    used: tuple[str, ...]


@dataclass(frozen=True)
class MultiwayProportion:
    """Share with the number of distinct clusters behind it.

    Attributes
    ----------
    proportion : Proportion
        With an interval that allows for every clustering in `used`.
    n_clusters : mapping of str to int
        Distinct items, annotators, personas and so on.
    used : tuple of str
        As in `MultiwayVariance`.
    """

    proportion: Proportion
    n_clusters: Mapping[str, int]
    used: tuple[str, ...]


def multiway_variance(values: npt.ArrayLike, clusters: ClusterLabels) -> MultiwayVariance | None:
    r"""Cluster-robust variance of a mean with any number of clusterings.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        For example whether each answer is right, or a difference of two sides.
    clusters : mapping of str to array_like of int, each of shape (n,)
        Cluster of each value by name, for example ``item``, ``annotator``, ``persona``,
        ``question``; any codes.

    Returns
    -------
    MultiwayVariance or None
        None if no clustering has two clusters.

    Raises
    ------
    ValueError
        If there is no clustering, or lengths differ.

    Notes
    -----
    :math:`V=\sum_{\emptyset\ne S}(-1)^{|S|+1}V_S` over sets S of clusterings, :math:`V_S` clustered
    by their joint cells, with the factor :math:`G/(G-1)` where S has one element. Departs
    from the source in two ways: V is at least the largest one-way variance, since the sum may come
    out negative, and a clustering inside another is left out of the sum, which it would leave
    unchanged but for that factor. With items and annotators alone it is `two_way_variance`.

    References
    ----------
    .. [1] A. C. Cameron, J. B. Gelbach and D. L. Miller, "Robust Inference With Multiway
       Clustering", Journal of Business & Economic Statistics 29(2), 2011.

    Examples
    --------
    >>> result = multiway_variance(
    ...     [1, 1, 0, 0], {"item": [0, 1, 2, 3], "persona": [0, 0, 1, 1], "question": [0, 0, 0, 0]}
    ... )
    >>> result.variance, result.used, dict(result.n_clusters)
    (0.25, ('persona',), {'item': 4, 'persona': 2, 'question': 1})
    """
    y = np.asarray(values, dtype=np.float64)
    if y.ndim != 1:
        raise ValueError(f"`values` must be one-dimensional, got shape {y.shape}.")
    return score_variance((y - y.mean()) / max(y.size, 1) if y.size else y, clusters)


def score_variance(scores: FloatArray, clusters: ClusterLabels) -> MultiwayVariance | None:
    """Variance of an estimate whose error is the sum of `scores`, shape (n,); see above."""
    prepared = prepare(clusters, scores.size)
    return None if prepared is None else prepared.variance(scores)


@dataclass(frozen=True, eq=False)
class PreparedClusters:
    """Clusterings of some rows, prepared once for any number of scores of these rows.

    `one_way` has the codes of every clustering with two or more clusters, `joint` the sign and
    the codes of every joint clustering of those in `used`.
    """

    n_clusters: Mapping[str, int]
    used: tuple[str, ...]
    one_way: Mapping[str, IntArray]
    joint: tuple[tuple[int, IntArray], ...]

    def variance(self, scores: FloatArray) -> MultiwayVariance:
        """Variance of an estimate whose error is the sum of `scores`, shape (n,)."""
        # `clustered_variance` divides by n squared, which the scores have done already.
        scaled = scores * scores.size
        by = {}
        for name, codes in self.one_way.items():
            size = self.n_clusters[name]
            by[name] = size / (size - 1) * clustered_variance(scaled, codes)
        total = sum(by[name] for name in self.used)
        total += sum(sign * clustered_variance(scaled, codes) for sign, codes in self.joint)
        return MultiwayVariance(
            variance=max(total, *by.values()),
            by=MappingProxyType(by),
            n_clusters=self.n_clusters,
            used=self.used,
        )


def prepare(clusters: ClusterLabels, n: int) -> PreparedClusters | None:
    """Prepare the clusterings of `n` rows; None if no clustering has two clusters.

    Raises ValueError if there is no clustering or one has another length.
    """
    if not clusters:
        raise ValueError("`clusters` must name at least one clustering.")
    codes: dict[str, IntArray] = {}
    sizes: dict[str, int] = {}
    for name, values in clusters.items():
        codes[name], sizes[name] = relabel(values)
        if codes[name].shape != (n,):
            raise ValueError(f"`clusters[{name!r}]` has {codes[name].size} rows, the values {n}.")
    varying = [name for name, size in sizes.items() if size >= 2]
    if not varying:
        return None
    used = _outermost(varying, codes, sizes)
    joint = [
        ((-1) ** (size + 1), _joint([codes[name] for name in subset]))
        for size in range(2, len(used) + 1)
        for subset in combinations(used, size)
    ]
    return PreparedClusters(
        n_clusters=MappingProxyType(sizes),
        used=used,
        one_way={name: codes[name] for name in varying},
        joint=tuple(joint),
    )


def multiway_proportion(
    correct: npt.ArrayLike, clusters: ClusterLabels, *, level: float = 0.95
) -> MultiwayProportion:
    r"""Share of right answers, allowing for shared items, people, personas and questions.

    Parameters
    ----------
    correct : array_like of bool, shape (n,)
        Whether each answer is right.
    clusters : mapping of str to array_like of int, each of shape (n,)
        As for `multiway_variance`.
    level : float, default 0.95

    Returns
    -------
    MultiwayProportion
        No interval (``"too_few_items"``) if nothing has two clusters. Its note names
        clusterings with fewer than ten clusters, and those with one: the interval says nothing
        about others.

    Notes
    -----
    Wilson's interval with :math:`n_{eff}=\min(n,\hat p(1-\hat p)/V)` and the t quantile of the
    smallest number of clusters in `used` less 1, as `two_way_proportion`.

    Examples
    --------
    >>> result = multiway_proportion(
    ...     [1, 1, 0, 1, 0, 1], {"item": [0, 1, 2, 3, 4, 5], "question": [0, 0, 1, 1, 2, 2]}
    ... )
    >>> result.used, result.proportion.interval.method, result.proportion.interval.note
    (('question',), 'multiway cluster-robust wilson', 'fewer than 10 question clusters')
    """
    right = np.asarray(correct).astype(np.bool_)
    check_level(level)
    k, n = int(right.sum()), int(right.size)
    if n == 0:
        return MultiwayProportion(EMPTY, MappingProxyType(dict.fromkeys(clusters, 0)), ())
    variance = multiway_variance(right, clusters)
    if variance is None:
        sizes = dict.fromkeys(clusters, 1)
        share = Proportion(k, n, k / n, interval_reason="too_few_items")
        return MultiwayProportion(share, MappingProxyType(sizes), ())
    fewest = min(variance.n_clusters[name] for name in variance.used)
    low, high = wilson_ends(
        k / n,
        effective_n(k / n, n, variance.variance, at_most=fewest),
        t_quantile(fewest - 1, (1 + level) / 2),
    )
    shared = n, variance.n_clusters, variance.used, FEW_CLUSTERS
    interval = clustered_interval(low, high, level, "multiway cluster-robust wilson", *shared)
    share = Proportion(k, n, k / n, interval=interval)
    return MultiwayProportion(share, variance.n_clusters, variance.used)


def multiway_mean(
    values: npt.ArrayLike, clusters: ClusterLabels, *, level: float = 0.95
) -> Estimate:
    """Mean of any values, such as differences of two sides, with a multiway t interval.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        NaN is left out.
    clusters : mapping of str to array_like of int, each of shape (n,)
        As for `multiway_variance`.
    level : float, default 0.95

    Returns
    -------
    Estimate
        Undefined (``"empty_group"``) without values; no interval if nothing has two clusters
        (``"too_few_items"``) or clusters do not differ (``"no_variation"``).

    Examples
    --------
    >>> estimate = multiway_mean([1, 0, 0, -1, 1, 1], {"question": [0, 0, 1, 1, 2, 2]})
    >>> round(estimate.value, 3), estimate.interval.method
    (0.333, 'multiway t(2)')
    """
    check_level(level)
    y = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(y)
    if not known.any():
        return Estimate(None, "empty_group")
    taken = {name: np.asarray(codes)[known] for name, codes in clusters.items()}
    mean = float(y[known].mean())
    variance = multiway_variance(y[known], taken)
    if variance is None:
        return Estimate(mean, interval_reason="too_few_items")
    if variance.variance <= 1e-24:
        return Estimate(mean, interval_reason="no_variation")
    df = degrees_of_freedom(variance)
    half = t_quantile(df, (1 + level) / 2) * variance.variance**0.5
    low, high, method = mean - half, mean + half, f"multiway t({df})"
    shared = int(known.sum()), variance.n_clusters, variance.used, FEW_CLUSTERS
    return Estimate(mean, interval=clustered_interval(low, high, level, method, *shared))


def degrees_of_freedom(variance: MultiwayVariance) -> int:
    """Smallest number of clusters in use, minus one."""
    return min(variance.n_clusters[name] for name in variance.used) - 1


def _outermost(
    names: Sequence[str], codes: Mapping[str, IntArray], sizes: Mapping[str, int]
) -> tuple[str, ...]:
    """Clusterings that are not nested in another; of equal ones, the first."""

    def inside(fine: str, coarse: str) -> bool:
        if sizes[fine] < sizes[coarse]:
            return False
        of_cluster = np.empty(sizes[fine], dtype=np.int64)
        of_cluster[codes[fine]] = codes[coarse]
        return bool((of_cluster[codes[fine]] == codes[coarse]).all())

    def is_redundant(name: str) -> bool:
        return any(
            inside(name, other)
            and (not inside(other, name) or names.index(other) < names.index(name))
            for other in names
            if other != name
        )

    return tuple(name for name in names if not is_redundant(name))


def _joint(codes: Sequence[IntArray]) -> IntArray:
    """One code per distinct combination."""
    cells = codes[0]
    for other in codes[1:]:
        cells, _ = relabel(cells * (int(other.max()) + 1) + other)
    return cells
