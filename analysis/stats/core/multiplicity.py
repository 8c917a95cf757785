"""Adjustment for several tests: Holm, Benjamini-Yekutieli, and max-T by resampling."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .results import BoolArray, FloatArray

# Permutations, or flips, of a test by resampling: p values down to 1 in 2,000.
DRAWS = 1999
# With fewer clusters, there are too few sign flips for a p value below 5 %.
FEWEST_FLIPPED = 6
# Largest size of a matrix product; limits the batch of resamples.
_MOST_NUMBERS = 4_000_000
# Sums in a different order differ in the last digits.
_ALIKE = 1e-9


def holm(
    p_values: Sequence[float | None], weights: Sequence[float] | None = None
) -> list[float | None]:
    r"""Adjust p values so that the chance of any false rejection stays below the level (Holm).

    Parameters
    ----------
    p_values : sequence of float or None, length n
        Raw p values in [0, 1], in any order. None marks a missing test, which does not count and
        stays None.
    weights : sequence of float, length n, optional
        How much of the level each test gets, chosen without these data; equal by default.

    Returns
    -------
    list of float or None, length n
        Adjusted p values in the order given. Reject if ``adjusted <= level``.

    Raises
    ------
    ValueError
        If a p value lies outside [0, 1], or a weight is not above 0.

    Notes
    -----
    With the values sorted by :math:`p/w`,
    :math:`\tilde p_{(i)} = \max_{j\le i}\min(1, p_{(j)}\sum_{l\ge j}w_{(l)}/w_{(j)})`, for equal
    weights :math:`(n-j+1)\,p_{(j)}`. Tests with equal p values and weights get equal adjusted
    values. No assumption about dependence is made.

    References
    ----------
    .. [1] Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
       of Statistics 6 (1979), 65-70.

    Examples
    --------
    >>> [None if p is None else round(p, 3) for p in holm([0.01, None, 0.04, 0.03])]
    [0.03, None, 0.06, 0.06]
    >>> [round(p, 3) for p in holm([0.01, 0.03], weights=[1, 3])]
    [0.04, 0.04]
    """
    tested, values = _tested(p_values)
    share = np.ones(len(p_values)) if weights is None else np.asarray(weights, dtype=np.float64)
    if share.shape != (len(p_values),) or not np.all(share > 0):
        raise ValueError("`weights` must have a number above 0 for each p value.")
    share = share[tested]
    order = np.argsort(values / share, kind="stable")
    left = np.cumsum(share[order][::-1])[::-1]
    stepped = np.maximum.accumulate(np.minimum(1.0, left / share[order] * values[order]))
    return _restore(len(p_values), tested[order], stepped)


def left_by_holm(adjusted: Sequence[float | None]) -> list[int]:
    """For each test, how many share the level: itself, and the others that Holm does not reject."""
    left = [p is not None and p > 0.05 for p in adjusted]
    return [sum(left) + (not own) for own in left]


def benjamini_yekutieli(p_values: Sequence[float | None]) -> list[float | None]:
    r"""Adjust p values so that the expected share of false rejections stays below the level.

    Valid under any dependence between the tests, which is why the alternative annotator test
    uses it: its tests share items and annotators.

    Parameters
    ----------
    p_values : sequence of float or None, length n
        Raw p values in [0, 1]. None marks a test that could not be made and stays None.

    Returns
    -------
    list of float or None, length n
        Adjusted p values in the order given. Reject if ``adjusted <= q``.

    Raises
    ------
    ValueError
        If a p value lies outside [0, 1].

    Notes
    -----
    :math:`\tilde p_{(i)} = \min_{j\ge i}\min(1, \frac{n\,c_n}{j}p_{(j)})` with
    :math:`c_n = \sum_{k=1}^n 1/k` (3.99 for 30 tests).

    References
    ----------
    .. [1] Benjamini and Yekutieli, "The control of the false discovery rate in multiple testing
       under dependency", Annals of Statistics 29 (2001), 1165-1188.

    Examples
    --------
    >>> [round(p, 6) for p in benjamini_yekutieli([0.01, 0.04])]
    [0.03, 0.06]
    """
    tested, values = _tested(p_values)
    # As `scipy.stats.false_discovery_control`, which is not worth loading `scipy.stats` for.
    order = np.argsort(values)
    rank = np.arange(1, values.size + 1)
    scaled = values[order] * (values.size / rank) * np.sum(1 / rank)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1].clip(max=1)
    return _restore(len(p_values), tested, adjusted)


@dataclass(frozen=True)
class MaxT:
    """Tests by resampling, one for each row and column, and their adjustment over all of them.

    Attributes
    ----------
    t : ndarray of float
        The statistics; NaN where there is no test.
    p : ndarray of float
        Two-sided p value of each test alone.
    adjusted : ndarray of float
        Share of resamples, including the study itself, in which the largest statistic reaches this
        one.
    """

    t: FloatArray
    p: FloatArray
    adjusted: FloatArray


def permuted_groups(
    wrong: npt.ArrayLike,
    answered: npt.ArrayLike,
    inside: npt.ArrayLike,
    outside: npt.ArrayLike,
    *,
    fewest: int,
    rng: np.random.Generator,
    draws: int = DRAWS,
) -> MaxT:
    r"""Test all groups of clusters and all raters at once, by permuting clusters among groups.

    Parameters
    ----------
    wrong, answered : array_like of float, shape (n_raters, n_clusters)
        Sum of a rater's errors on a cluster, such as a persona, and number of its answers there.
    inside, outside : array_like of bool, shape (n_groups, n_clusters)
        Clusters of each group, and those that it is compared with.
    fewest : int
        Fewest answered clusters that a group and the rest each need for a test.
    rng : numpy.random.Generator
    draws : int, default 1999

    Returns
    -------
    MaxT
        Arrays of shape (n_raters, n_groups).

    Notes
    -----
    A statistic is the difference of the two error rates, weighted by answers, over its standard
    deviation under random assignment of clusters to groups. With :math:`e_j` the errors of cluster
    j minus those expected at the rater's own rate, and weights :math:`a_j` of 1/N inside and -1/N
    outside, that is :math:`\sqrt{\sum e_j^2\sum(a_j-\bar a)^2/(G-1)}`: from all clusters, so that a
    group without errors has no variance of its own that is too small. All of a cluster's answers
    are moved together and for all raters alike, which keeps what they share.

    References
    ----------
    .. [1] Westfall and Young, Resampling-Based Multiple Testing (1993).

    Examples
    --------
    >>> wrong = [[3, 2, 3, 3, 0, 1, 0, 0, 1, 0]]
    >>> inside = np.arange(10)[None] < 4
    >>> rng = np.random.default_rng(1)
    >>> found = permuted_groups(wrong, np.full((1, 10), 4), inside, ~inside, fewest=3, rng=rng)
    >>> bool(found.adjusted[0, 0] < 0.02)
    True
    """
    errors, sizes = (np.atleast_2d(np.asarray(x, dtype=np.float64)) for x in (wrong, answered))
    within, beyond = (np.atleast_2d(np.asarray(x, dtype=np.float64)) for x in (inside, outside))
    if errors.shape != sizes.shape or within.shape != beyond.shape:
        raise ValueError("`wrong` and `answered`, `inside` and `outside` must have one shape.")
    if errors.shape[1] != within.shape[1]:
        raise ValueError("Raters and groups must have one number of clusters.")
    totals = np.maximum(sizes.sum(axis=1, keepdims=True), 1)
    excess = errors - errors.sum(axis=1, keepdims=True) / totals * sizes
    spread = (excess**2).sum(axis=1) / max(sizes.shape[1] - 1, 1)
    has = (sizes > 0).astype(np.float64)
    enough = np.minimum(has @ within.T, has @ beyond.T) >= fewest
    enough &= spread[:, None] > _ALIKE

    def statistics(order: npt.NDArray[np.intp]) -> FloatArray:
        """Of each permutation, rater and group."""
        one, two = (
            tuple((values[:, order] @ side.T).swapaxes(0, 1) for values in (excess, sizes))
            for side in (within, beyond)
        )
        counts = within.sum(axis=1), beyond.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            difference = one[0] / one[1] - two[0] / two[1]
            weights = counts[0] / one[1] ** 2 + counts[1] / two[1] ** 2
            weights -= (counts[0] / one[1] - counts[1] / two[1]) ** 2 / sizes.shape[1]
            t = difference / np.sqrt(spread[:, None] * weights)
        defined: FloatArray = np.where(enough & np.isfinite(t), t, 0.0)
        return defined

    observed = statistics(np.arange(sizes.shape[1])[None])[0]
    batch = max(1, _MOST_NUMBERS // max(1, errors.size + errors.shape[0] * within.shape[0]))
    permutations = (
        rng.permuted(np.tile(np.arange(sizes.shape[1]), (size, 1)), axis=1)
        for size in _batches(draws, batch)
    )
    return _largest(observed, enough, map(statistics, permutations), draws)


def flipped_signs(sums: npt.ArrayLike, *, rng: np.random.Generator, draws: int = DRAWS) -> MaxT:
    r"""Test whether means of several raters are 0, by flipping the signs of clusters.

    Parameters
    ----------
    sums : array_like of float, shape (n_raters, n_clusters)
        Sum of a rater's values on each cluster, such as a persona; 0 where it has none.
    rng : numpy.random.Generator
    draws : int, default 1999

    Returns
    -------
    MaxT
        Arrays of shape (n_raters,); no test with fewer than six clusters that are not 0.

    Notes
    -----
    The statistic is :math:`\sum_j s_j/\sqrt{\sum_j s_j^2}`. Under the hypothesis, a cluster's sum
    is as likely to be positive as negative; one flip is made for all raters, which share clusters.

    Examples
    --------
    >>> found = flipped_signs([[1] * 8, [1, -1] * 4], rng=np.random.default_rng(1))
    >>> bool(found.adjusted[0] < 0.05), float(found.t[1])
    (True, 0.0)
    """
    values = np.atleast_2d(np.asarray(sums, dtype=np.float64))
    size = np.sqrt((values**2).sum(axis=1))
    enough = (np.abs(values) > _ALIKE).sum(axis=1) >= FEWEST_FLIPPED
    scaled = values / np.where(size > 0, size, 1)[:, None]
    batch = max(1, _MOST_NUMBERS // max(1, values.shape[1]))
    flips = (
        (rng.integers(0, 2, (size, values.shape[1]), dtype=np.int8) * 2.0 - 1) @ scaled.T
        for size in _batches(draws, batch)
    )
    return _largest(scaled.sum(axis=1), enough, flips, draws)


def _batches(draws: int, batch: int) -> Iterator[int]:
    for start in range(0, draws, batch):
        yield min(batch, draws - start)


def _largest(
    observed: FloatArray, enough: BoolArray, batches: Iterator[FloatArray], draws: int
) -> MaxT:
    """Compare each statistic with its resamples, and with the largest of all."""
    seen = np.abs(observed) - _ALIKE
    alone, largest = np.ones(observed.shape), np.ones(observed.shape)
    for resampled in batches if enough.any() else ():
        sizes = np.abs(resampled)
        top = np.where(enough, sizes, 0).reshape(len(sizes), -1).max(axis=1)
        alone += (sizes >= seen).sum(axis=0)
        top.sort()
        largest += len(top) - np.searchsorted(top, seen)
    p, adjusted, t = (
        np.where(enough, values, np.nan)
        for values in (alone / (draws + 1), largest / (draws + 1), observed)
    )
    return MaxT(t, p, adjusted)


def holding(kinds: Sequence[float | None], *, level: float = 0.05) -> list[float]:
    """The level at which each kind's members are claimed, by Holm over the kinds.

    Parameters
    ----------
    kinds : sequence of float or None
        The smallest adjusted p value of each kind; None for a kind without a test.
    level : float, default 0.05

    Returns
    -------
    list of float
        The level of a kind's step where it passes, otherwise 0.

    Examples
    --------
    >>> holding([0.02, None, 0.001, 0.3])
    [0.025, 0.0, 0.016666666666666666, 0.0]
    """
    levels = [0.0] * len(kinds)
    tested = sorted((p, place) for place, p in enumerate(kinds) if p is not None)
    for step, (p, place) in enumerate(tested):
        if p > level / (len(tested) - step):
            break
        levels[place] = level / (len(tested) - step)
    return levels


def _tested(
    p_values: Sequence[float | None],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Positions and values of the tests that were made."""
    tested = [index for index, p in enumerate(p_values) if p is not None]
    values = np.array([p for p in p_values if p is not None], dtype=np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("`p_values` must lie in [0, 1].")
    return np.array(tested, dtype=np.intp), values


def _restore(
    n: int, positions: npt.NDArray[np.intp], values: npt.NDArray[np.float64]
) -> list[float | None]:
    """Adjusted values at the positions of the raw ones."""
    adjusted: list[float | None] = [None] * n
    for position, value in zip(positions, values, strict=True):
        adjusted[int(position)] = float(value)
    return adjusted
