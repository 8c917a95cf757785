"""Comparison of several judges on the same items: overall, in pairs and by rank."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.comparison.paired import count_pairs, mcnemar, tango_interval
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.proportions import wilson_proportion
from analysis.stats.core.results import (
    Estimate,
    FloatArray,
    IntArray,
    Proportion,
    Reason,
    check_level,
    known_rows,
    relabel,
    seed_of,
)


@dataclass(frozen=True)
class CochranQ:
    """Cochran's test that all judges are right equally often.

    Attributes
    ----------
    statistic : float or None
        Q, about chi-square with ``n_judges - 1`` degrees of freedom.
    p : float or None
    n, n_missing : int
        Items that every judge answered, and items left out.
    n_judges : int
    reason : str or None
        ``"empty_group"``, or ``"no_discordant"`` if on every item all judges are right or all
        are wrong.
    """

    statistic: float | None
    p: float | None
    n: int
    n_missing: int
    n_judges: int
    reason: Reason | None = None


@dataclass(frozen=True)
class JudgePair:
    """Difference of two judges on the items that all judges answered.

    Attributes
    ----------
    first, second : int
        Columns of the judges.
    difference : Estimate
        Accuracy of the first minus that of the second, with Tango's interval.
    p, p_adjusted : float or None
        Exact McNemar, raw and after Holm over all pairs; None without a discordant item.
    """

    first: int
    second: int
    difference: Estimate
    p: float | None
    p_adjusted: float | None


@dataclass(frozen=True)
class JudgeComparison:
    """Comparison of all judges with each other.

    Attributes
    ----------
    overall : CochranQ
        Test that the judges do not differ at all.
    accuracy : tuple of Proportion
        Of each judge on the common items, in the order of the columns.
    pairs : tuple of JudgePair
        Every pair of judges.
    ranks : tuple of tuple of int
        Best and worst possible rank of each judge; rank 1 is the most accurate. All
        of them hold together at the level.
    """

    overall: CochranQ
    accuracy: tuple[Proportion, ...]
    pairs: tuple[JudgePair, ...]
    ranks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class JointBootstrap:
    """Joint test of all pairs of judges that resamples items or clusters of items.

    Attributes
    ----------
    p : float or None
        Of the hypothesis that no two judges differ.
    pairs : dict of (int, int) to float
        Adjusted p value of each pair; a pair that agrees on every cluster has 1.
    ranks : tuple of tuple of int
        As in `JudgeComparison`.
    n, n_clusters, n_draws : int
        Common items, their clusters, resamples.
    seed : int or None
    reason : str or None
        ``"empty_group"``, ``"too_few_items"`` below 8 clusters, or ``"no_discordant"``.
    """

    p: float | None
    pairs: dict[tuple[int, int], float]
    ranks: tuple[tuple[int, int], ...]
    n: int
    n_clusters: int
    n_draws: int
    seed: int | None
    reason: Reason | None = None


MIN_CLUSTERS = 8


def cochran_q(correct: npt.ArrayLike) -> CochranQ:
    r"""Test whether several judges are right equally often on the same items.

    Parameters
    ----------
    correct : array_like of int, shape (n_items, n_judges)
        1 right, 0 wrong, -1 missing. An item without an answer of a judge is left out and counted.

    Returns
    -------
    CochranQ

    Raises
    ------
    ValueError
        If `correct` is not a matrix of at least two judges.

    Notes
    -----
    :math:`Q=(J-1)\frac{J\sum_j C_j^2-N^2}{JN-\sum_i R_i^2}` with column sums C, row sums R and
    total N. With two judges it is McNemar's chi-square. It treats items as independent; for items
    that share personas or questions see `joint_bootstrap`.

    References
    ----------
    .. [1] W. G. Cochran, "The Comparison of Percentages in Matched Samples", Biometrika 37, 1950.

    Examples
    --------
    >>> result = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 0]])
    >>> round(result.statistic, 3), round(result.p, 3)
    (4.5, 0.105)
    """
    right, n_missing = _common(correct)
    n, n_judges = right.shape
    if n == 0:
        return CochranQ(None, None, 0, n_missing, n_judges, "empty_group")
    columns, rows = right.sum(axis=0), right.sum(axis=1)
    total = int(right.sum())
    spread = n_judges * total - int((rows**2).sum())
    if spread == 0:
        return CochranQ(None, None, n, n_missing, n_judges, "no_discordant")
    q = (n_judges - 1) * (n_judges * int((columns**2).sum()) - total**2) / spread
    return CochranQ(float(q), float(special.chdtrc(n_judges - 1, q)), n, n_missing, n_judges)


def compare_judges(correct: npt.ArrayLike, *, level: float = 0.95) -> JudgeComparison:
    r"""Compare all judges: together, pair by pair with Holm, and by rank.

    Parameters
    ----------
    correct : array_like of int, shape (n_items, n_judges)
        1 right, 0 wrong, -1 missing. Only items that all judges answered are used.
    level : float, default 0.95
        Of intervals, and of all ranks together.

    Returns
    -------
    JudgeComparison

    Raises
    ------
    ValueError
        If `correct` is not a matrix of at least two judges.

    Notes
    -----
    A judge's best rank is one more than the number of judges that are significantly better after
    Holm, its worst the number of judges minus those that are significantly worse. Holm limits the
    chance of any false rejection, so all ranks are in their ranges with probability `level`.

    References
    ----------
    .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for Ranks with
       Applications to Mobility across Neighbourhoods and Academic Achievement across Countries",
       Review of Economic Studies 91(1), 2024.

    Examples
    --------
    >>> rows = [[1, 1, 0]] * 30 + [[1, 0, 0]] * 2 + [[0, 1, 0]] * 2 + [[1, 1, 1]] * 20
    >>> result = compare_judges(rows)
    >>> result.ranks, [round(p.p_adjusted, 3) for p in result.pairs]
    (((1, 2), (1, 2), (3, 3)), [1.0, 0.0, 0.0])
    """
    check_level(level)
    right, _ = _common(correct)
    n_judges = right.shape[1]
    columns = list(combinations(range(n_judges), 2))
    counts = [count_pairs(right[:, a], right[:, b]) for a, b in columns]
    raw = [mcnemar(pair).p for pair in counts]
    adjusted = holm(raw)
    pairs = tuple(
        JudgePair(
            first,
            second,
            Estimate(pair.difference, interval=tango_interval(pair, level))
            if pair.n
            else Estimate(None, "empty_group"),
            p,
            p_adjusted,
        )
        for (first, second), pair, p, p_adjusted in zip(columns, counts, raw, adjusted, strict=True)
    )
    accuracy = tuple(wilson_proportion(right[:, j], level=level) for j in range(n_judges))
    return JudgeComparison(
        overall=cochran_q(correct),
        accuracy=accuracy,
        pairs=pairs,
        ranks=_ranks(right, columns, adjusted, 1 - level),
    )


def joint_bootstrap(
    correct: npt.ArrayLike,
    cluster: npt.ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    n_draws: int = 2000,
    level: float = 0.95,
) -> JointBootstrap:
    r"""Test all pairs of judges together if items share personas or questions.

    Parameters
    ----------
    correct : array_like of int, shape (n_items, n_judges)
        1 right, 0 wrong, -1 missing; only items that all judges answered count.
    cluster : array_like of int, shape (n_items,), optional
        What items share, such as the persona; any codes. By default every item is its own.
    rng : numpy.random.Generator
        Source of randomness; its seed is stored.
    n_draws : int, default 2000
        Resamples of clusters, at least 2.
    level : float, default 0.95
        Of all ranks together.

    Returns
    -------
    JointBootstrap

    Raises
    ------
    ValueError
        If the arrays do not fit or a number is out of range.

    Notes
    -----
    With :math:`\hat d_p` the difference of pair p and :math:`s_p` its bootstrap standard
    deviation over resampled clusters, :math:`t_p=|\hat d_p|/s_p` is compared with the
    distribution of :math:`\max_p|d^*_p-\hat d_p|/s_p`. The adjusted p value of a pair is
    :math:`(1+\#\{\max\ge t_p\})/(1+R)`; the smallest is that of the joint hypothesis.

    References
    ----------
    .. [1] P. H. Westfall and S. S. Young, "Resampling-Based Multiple Testing", Wiley, 1993.

    Examples
    --------
    >>> rows = [[1, 1, 0]] * 30 + [[1, 0, 0]] * 2 + [[0, 1, 0]] * 2 + [[1, 1, 1]] * 20
    >>> result = joint_bootstrap(rows, rng=np.random.default_rng(1))
    >>> result.ranks, result.p < 0.001, result.pairs[0, 1]
    (((1, 2), (1, 2), (3, 3)), True, 1.0)
    """
    check_level(level)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    matrix, keep = _matrix(correct)
    codes = np.arange(keep.size) if cluster is None else np.asarray(cluster)
    if codes.shape != keep.shape:
        raise ValueError(f"`cluster` has {codes.size} rows, `correct` has {keep.size}.")
    right = matrix[keep]
    unit, n_clusters = relabel(codes[keep])
    n, n_judges = right.shape
    columns = list(combinations(range(n_judges), 2))
    everywhere = ((1, n_judges),) * n_judges

    def undefined(reason: Reason) -> JointBootstrap:
        return JointBootstrap(None, {}, everywhere, n, n_clusters, n_draws, seed_of(rng), reason)

    if n == 0:
        return undefined("empty_group")
    if n_clusters < MIN_CLUSTERS:
        return undefined("too_few_items")
    differences = np.stack([right[:, a] - right[:, b] for a, b in columns], axis=1)
    if not differences.any():
        return undefined("no_discordant")
    observed = differences.mean(axis=0)
    drawn = _resampled_means(differences.astype(np.float64), unit, n_clusters, n_draws, rng)
    sd = drawn.std(axis=0, ddof=1)
    varies = sd > 0
    if not varies.any():
        return undefined("no_discordant")
    most = (np.abs(drawn - observed)[:, varies] / sd[varies]).max(axis=1)
    t = np.divide(np.abs(observed), sd, out=np.zeros_like(sd), where=varies)
    adjusted = [float((1 + (most >= value - 1e-12).sum()) / (1 + n_draws)) for value in t]
    return JointBootstrap(
        p=min(adjusted),
        pairs=dict(zip(columns, adjusted, strict=True)),
        ranks=_ranks(right, columns, adjusted, 1 - level),
        n=n,
        n_clusters=n_clusters,
        n_draws=n_draws,
        seed=seed_of(rng),
    )


def _matrix(correct: npt.ArrayLike) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    right, known = known_rows(correct)
    if right.ndim != 2 or right.shape[1] < 2:
        raise ValueError(
            f"`correct` must be items by at least two judges, got shape {right.shape}."
        )
    return right, np.asarray(known.all(axis=1))


def _common(correct: npt.ArrayLike) -> tuple[IntArray, int]:
    """Right or wrong on the items that every judge answered, and the number of other items."""
    right, keep = _matrix(correct)
    return right[keep], int(np.sum(~keep))


def _resampled_means(
    values: FloatArray, unit: IntArray, n_units: int, n_draws: int, rng: np.random.Generator
) -> FloatArray:
    """Means of the columns in resamples of whole units, shape (n_draws, n_columns)."""
    sums = np.zeros((n_units, values.shape[1] + 1))
    np.add.at(sums, unit, np.column_stack([values, np.ones(len(values))]))
    rows, n = np.unique(sums, axis=0, return_counts=True)
    totals = rng.multinomial(n_units, n / n_units, n_draws) @ rows
    return np.asarray(totals[:, :-1] / totals[:, -1:])


def _ranks(
    right: IntArray,
    columns: Sequence[tuple[int, int]],
    p_values: Sequence[float | None],
    alpha: float,
) -> tuple[tuple[int, int], ...]:
    """Ranks that the significant differences allow."""
    n_judges = right.shape[1]
    better, worse = [0] * n_judges, [0] * n_judges
    totals = right.sum(axis=0)
    for (a, b), p in zip(columns, p_values, strict=True):
        if p is not None and p <= alpha and totals[a] != totals[b]:
            first, second = (a, b) if totals[a] > totals[b] else (b, a)
            worse[first] += 1
            better[second] += 1
    return tuple((1 + better[j], n_judges - worse[j]) for j in range(n_judges))
