"""Krippendorff's alpha of choices and of certainties."""

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ..core.bootstrap import (
    Statistic,
    count_rows,
    estimate_with_interval,
    pairable,
    ratio,
    resampled_estimate,
)
from ..core.results import Estimate, FloatArray, IntArray
from ..core.votes import Votes

AlphaMetric = Literal["nominal", "ordinal", "interval", "ratio"]
Resample = Literal["items", "pairs"]


def krippendorff_alpha(
    counts: npt.ArrayLike,
    *,
    metric: AlphaMetric = "nominal",
    values: npt.ArrayLike | None = None,
    resample: Resample = "items",
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Krippendorff's alpha of count rows, for any number of annotators and missing votes.

    Parameters
    ----------
    counts : array_like of int, shape (n_items, n_values)
        How often each value was given to each item. Items with fewer than two votes are left
        out.
    metric : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Difference between two values: whether they differ; their squared difference in
        mid-ranks; their squared difference; that over their squared sum.
    values : array_like of float, shape (n_values,), optional
        The value of each column, in ascending order; ``0..n_values-1`` by default. Used by
        ``"interval"`` and ``"ratio"``.
    resample : {"items", "pairs"}, default "items"
        ``"items"``: the interval resamples items. ``"pairs"``: the observed disagreement is
        redrawn pair by pair with the expected one fixed, as in [2]_. It treats the pairs
        of one item as independent and is too narrow.
    n_draws : int, default 1000
        Resamples for the interval.
    rng : numpy.random.Generator, optional
        Source of randomness. None: no interval.
    level : float, default 0.95

    Returns
    -------
    Estimate
        At most 1. Undefined below two items with two votes (``"too_few_items"``), and if all values
        are equal (``"no_variation"``), which shows neither agreement nor its absence. No interval
        (``"no_variation"``) if all resamples have the same alpha, such as if all agree.

    Raises
    ------
    ValueError
        If `counts` is not a matrix of counts, or an option is unknown.

    Notes
    -----
    :math:`\alpha = 1 - D_o / D_e` with coincidences
    :math:`o_{ck} = \sum_u c_{uc}(c_{uk} - [c=k]) / (m_u - 1)`, :math:`n_c = \sum_k o_{ck}`,
    :math:`D_o = \sum o_{ck}\delta_{ck}/n` and
    :math:`D_e = \sum n_c n_k \delta_{ck} / (n(n-1))`. Departs from the ``krippendorff``
    package where that gives 0 for a single item.

    Resamples without variation are dropped and counted; above 5% there is no interval.

    References
    ----------
    .. [1] K. Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011.
    .. [2] K. Krippendorff, "Bootstrapping Distributions for Krippendorff's Alpha", 2006.

    Examples
    --------
    >>> round(krippendorff_alpha([[3, 0], [2, 1], [0, 3], [1, 2]]).value, 4)
    0.3889
    >>> krippendorff_alpha([[3, 0], [3, 0]]).reason
    'no_variation'
    """
    if metric not in get_args(AlphaMetric):
        raise ValueError(
            f"`metric` must be one of {', '.join(get_args(AlphaMetric))}, got {metric!r}."
        )
    if resample not in get_args(Resample):
        raise ValueError(f"`resample` must be items or pairs, got {resample!r}.")
    rows = pairable(count_rows(counts))
    if len(rows) < 2:
        return Estimate(None, "too_few_items")
    n_values = rows.shape[1]
    scale = np.arange(n_values, dtype=float) if values is None else np.asarray(values, dtype=float)
    if scale.shape != (n_values,):
        raise ValueError(f"`values` must have length {n_values}, got shape {scale.shape}.")

    alpha = _alpha_nominal if metric == "nominal" else _alpha_of(metric, scale)
    if resample == "items":
        return estimate_with_interval(alpha, rows, "no_variation", n_draws, rng, level)
    point = estimate_with_interval(alpha, rows, "no_variation", n_draws, None, level)
    if point.value is None or rng is None:
        return point
    draws = _alpha_pair_draws(rows, metric, scale, n_draws, rng)
    return resampled_estimate(
        point.value,
        draws,
        level=level,
        method="pair bootstrap",
        n_items=len(rows),
        rng=rng,
        note="too narrow: takes the pairs of one item for independent ones",
    )


def certainty_alpha(
    votes: Votes,
    *,
    metric: AlphaMetric = "interval",
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Krippendorff's alpha of the certainties of several annotators.

    Parameters
    ----------
    votes : Votes
        Choices with certainties; missing certainties are left out.
    metric : {"interval", "ordinal", "nominal", "ratio"}, default "interval"
    n_draws, rng, level
        As for `krippendorff_alpha`; the interval resamples items.

    Returns
    -------
    Estimate
        Undefined as for `krippendorff_alpha`.

    Notes
    -----
    The interval metric has a closed form that needs no coincidence matrix: with
    :math:`s_1, s_2` the sums of values and squares of an item,
    :math:`D_o = \sum_u \frac{2(m s_2 - s_1^2)}{m-1} / n` and
    :math:`D_e = \frac{2(n S_2 - S_1^2)}{n(n-1)}`.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0], [0, 1], [1, 1]], [[90, 80], [20, 30], [60, 55]])
    >>> round(certainty_alpha(votes).value, 4)
    0.9496
    """
    stated = ~np.isnan(votes.certainty)
    item, value = votes.item[stated], votes.certainty[stated]
    if metric == "interval":
        return _interval_alpha(item, value, n_draws, rng, level)
    levels, code = np.unique(value, return_inverse=True)
    counts = np.zeros((votes.n_items, max(levels.size, 1)), dtype=np.int64)
    np.add.at(counts, (item, code), 1)
    scale = levels if levels.size else np.zeros(1)
    return krippendorff_alpha(
        counts, metric=metric, values=scale, n_draws=n_draws, rng=rng, level=level
    )


def _alpha_nominal(weights: FloatArray, rows: FloatArray) -> FloatArray:
    """Nominal alpha from agreements, without a coincidence matrix."""
    m = rows.sum(axis=1)
    disagreement = (m**2 - (rows**2).sum(axis=1)) / (m - 1)
    totals = weights @ rows
    n = totals.sum(axis=1)
    return 1 - ratio((weights @ disagreement) * (n - 1), n**2 - (totals**2).sum(axis=1))


def _alpha_of(metric: AlphaMetric, values: FloatArray) -> Statistic:
    """Alpha with one matrix of differences per resample, since ranks depend on the resample."""

    def statistic(weights: FloatArray, rows: FloatArray) -> FloatArray:
        totals = weights @ rows
        n = totals.sum(axis=1)
        if metric != "ordinal":
            delta = _difference(metric, values)
            observed = weights @ ((rows @ delta * rows).sum(axis=1) / (rows.sum(axis=1) - 1))
            expected = np.einsum("rc,ck,rk->r", totals, delta, totals, optimize=True)
            return 1 - ratio(observed * (n - 1), expected)
        # Squared differences of mid-ranks r expand into sums, so no (C, C) matrix is needed:
        # sum_ck a_c b_k (r_c - r_k)^2 = A Sb - 2 (a.r)(b.r) + B Sa.
        rank = np.cumsum(totals, axis=1) - totals / 2
        expected = 2 * (n * (totals * rank**2).sum(axis=1) - (totals * rank).sum(axis=1) ** 2)
        m = rows.sum(axis=1)
        squares = ((weights * (m / (m - 1)) @ rows) * rank**2).sum(axis=1)
        sums = rank @ rows.T
        observed = 2 * (squares - np.einsum("ru,ru,ru->r", weights / (m - 1), sums, sums))
        return 1 - ratio(observed * (n - 1), expected)

    return statistic


def _difference(metric: AlphaMetric, values: FloatArray) -> FloatArray:
    """Squared difference between columns, shape (C, C)."""
    if metric == "nominal":
        return 1 - np.eye(values.size)
    squared = np.subtract.outer(values, values) ** 2
    if metric == "interval":
        return np.asarray(squared)
    return np.asarray(ratio(squared, np.add.outer(values, values) ** 2, undefined=0.0))


def _interval_alpha(
    item: IntArray, value: FloatArray, n_draws: int, rng: np.random.Generator | None, level: float
) -> Estimate:
    """Interval alpha from the sums of each item, shape (U, 3): votes, values, squares."""
    m = np.bincount(item)
    paired = m >= 2
    if paired.sum() < 2:
        return Estimate(None, "too_few_items")
    # Centred at a whole number: n S2 - S1^2 does not cancel, and whole certainties stay exact.
    centred = value - np.round(value.mean())
    sums = np.stack(
        [m.astype(np.float64), np.bincount(item, centred), np.bincount(item, centred**2)], axis=1
    )[paired]
    sums = sums[np.lexsort(sums.T)]
    # Few items differ in their sums.
    first_alike = np.flatnonzero(np.append(True, (sums[1:] != sums[:-1]).any(axis=1)))
    alike = np.diff(first_alike, append=len(sums))

    def statistic(weights: FloatArray, rows: FloatArray) -> FloatArray:
        votes, first, second = rows.T
        observed = weights @ (2 * (votes * second - first**2) / (votes - 1))
        n, s1, s2 = (weights @ rows).T
        expected = 2 * (n * s2 - s1**2)
        return 1 - ratio(observed * (n - 1), np.where(expected < 1e-9 * n, 0.0, expected))

    return estimate_with_interval(
        statistic,
        sums[first_alike],
        "no_variation",
        n_draws,
        rng,
        level,
        alike,
        item_by_item=True,
    )


def _alpha_pair_draws(
    rows: FloatArray,
    metric: AlphaMetric,
    values: FloatArray,
    n_draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Krippendorff's bootstrap: pairs redrawn by their frequency, expectation held fixed."""
    totals = rows.sum(axis=0)
    n = totals.sum()
    if metric == "ordinal":
        metric, values = "interval", np.cumsum(totals) - totals / 2
    delta = _difference(metric, values)
    expected = totals @ delta @ totals / (n * (n - 1))
    coincidences = (rows / (rows.sum(axis=1) - 1)[:, None]).T @ rows
    coincidences -= np.diag((rows / (rows.sum(axis=1) - 1)[:, None]).sum(axis=0))
    m = rows.sum(axis=1)
    n_pairs = int((m * (m - 1) / 2).sum())
    drawn = rng.multinomial(n_pairs, (coincidences / n).ravel(), n_draws)
    return np.asarray(1 - drawn @ delta.ravel() / n_pairs / expected)
