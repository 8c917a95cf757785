"""Intervals from resampling, of values and of count rows.

A nominal statistic depends only on how many annotators of an item chose each option, so a resample
of items is a multinomial draw over the few distinct count rows, whose cost does not grow with the
number of items.
"""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from .results import (
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Reason,
    check_level,
    relabel,
    seed_of,
)

MAX_UNDEFINED = 0.05  # share of resamples that may leave a statistic undefined
ROUNDING = 1e-10


def resampled_estimate(
    value: float,
    draws: FloatArray,
    *,
    level: float,
    method: str,
    n_items: int,
    n_annotators: int | None = None,
    rng: np.random.Generator,
    note: str | None = None,
    undefined: Reason = "no_variation",
) -> Estimate:
    """Estimate with its percentile interval, or the reason why it has none."""
    interval = percentile_interval(
        draws,
        level=level,
        method=method,
        n_items=n_items,
        n_annotators=n_annotators,
        rng=rng,
        note=note,
        value=value,
    )
    if interval is not None:
        return Estimate(value, interval=interval)
    defined = draws[~np.isnan(draws)]
    reason = undefined
    if defined.size > (1 - MAX_UNDEFINED) * draws.size:
        is_constant = np.ptp(defined) <= ROUNDING * max(float(np.abs(defined).max()), 1.0)
        reason = "no_variation" if is_constant else "biased"
    return Estimate(value, interval_reason=reason)


def percentile_interval(
    draws: FloatArray,
    *,
    level: float,
    method: str,
    n_items: int,
    n_annotators: int | None = None,
    rng: np.random.Generator,
    note: str | None = None,
    value: float | None = None,
    max_undefined: float = MAX_UNDEFINED,
) -> Interval | None:
    """Percentile interval of resampled values.

    Parameters
    ----------
    draws : ndarray of float, shape (n_draws,)
        NaN where a resample left the statistic undefined; those are dropped.
    level : float
        Nominal coverage in (0, 1).
    method, n_items, n_annotators, note
        Stored with the interval.
    rng : numpy.random.Generator
        Generator of the draws; its seed is stored.
    value : float, optional
        The estimate that was resampled.
    max_undefined : float, default 0.05
        Largest share of undefined draws.

    Returns
    -------
    Interval or None
        None if more than `max_undefined` of the draws are undefined, or there are none; if all
        draws are the same, which does not mean certainty; and if they exclude `value`, because such
        a statistic is biased by chance, and twice in a resample. `n_draws` counts all draws; `note`
        gives the number of undefined ones.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> interval = percentile_interval(
    ...     np.linspace(0, 1, 101), level=0.9, method="item bootstrap", n_items=30, rng=rng
    ... )
    >>> round(interval.low, 3), round(interval.high, 3), interval.n_draws
    (0.05, 0.95, 101)
    """
    defined = draws[~np.isnan(draws)]
    n_undefined = draws.size - defined.size
    if defined.size == 0 or n_undefined > max_undefined * draws.size:
        return None
    low, high = (float(end) for end in np.quantile(defined, [(1 - level) / 2, (1 + level) / 2]))
    if high - low <= ROUNDING * max(abs(low), abs(high), 1.0):
        return None
    if value is not None and not low - ROUNDING <= value <= high + ROUNDING:
        return None
    dropped = f"{n_undefined} undefined resamples dropped" if n_undefined else None
    if value is not None:
        # An estimate at the edge, such as a share of 1, may be off by rounding.
        low, high = min(low, value), max(high, value)
    return Interval(
        low,
        high,
        level,
        method,
        n_items,
        n_annotators,
        seed=seed_of(rng),
        n_draws=draws.size,
        note="; ".join(filter(None, [note, dropped])) or None,
    )


def resampled_weights(
    n_units: int, n_draws: int, rng: np.random.Generator, kind: IntArray | None = None
) -> Iterator[FloatArray]:
    """Yield for each resample how often it contains each unit, shape (n_units,).

    With `kind`, the kind of each unit as codes from 0: how often units of each kind are in it.
    Counting drawn units is an order of magnitude faster than drawing their multinomial counts,
    and one resample at a time stays in the cache.
    """
    n_kinds = n_units if kind is None else int(kind.max(initial=-1)) + 1
    # Numbers of 32 bits are the same as with 64 bits, and need less cache.
    short = None if kind is None else kind.astype(np.min_scalar_type(n_kinds))
    for _ in range(n_draws):
        drawn = rng.integers(0, n_units, n_units, dtype=np.int32)
        times = np.bincount(drawn if short is None else short[drawn], minlength=n_kinds)
        yield times.astype(np.float64)


def pigeonhole_bootstrap(
    statistic: Callable[[FloatArray], FloatArray],
    item: npt.ArrayLike,
    annotator: npt.ArrayLike,
    *,
    n_draws: int = 1000,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Estimate:
    r"""Percentile interval from resampling items and annotators independently.

    For ratio statistics without a closed form, such as the accuracy of high-certainty answers.

    Parameters
    ----------
    statistic : callable
        Takes weights of shape (r, n), one row per resample, and returns r values; NaN where it
        is undefined. It is called with weights of 1 for the estimate itself.
    item, annotator : array_like of int, shape (n,)
        Annotator and item of each answer; any codes.
    n_draws : int, default 1000
        Resamples, at least 2.
    rng : numpy.random.Generator
        Source of randomness; its seed is stored.
    level : float, default 0.95

    Returns
    -------
    Estimate
        No interval as for `resampled_estimate`.

    Notes
    -----
    Row (i, j) has weight :math:`w_i v_j` with multinomial w and v. The variance is about :math:`V_I
    + V_A + V_O`: conservative, up to three times too large if nothing is clustered. Memory: blocks
    of 4 million weights.

    References
    ----------
    .. [1] A. B. Owen, "The Pigeonhole Bootstrap", Annals of Applied Statistics 1(2), 2007.

    Examples
    --------
    >>> right = np.array([1, 1, 0, 1, 0, 1, 1, 0])
    >>> estimate = pigeonhole_bootstrap(
    ...     lambda w: w @ right / w.sum(axis=1),
    ...     [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 1, 2, 3, 2, 3],
    ...     rng=np.random.default_rng(7),
    ... )
    >>> estimate.value, estimate.interval.seed
    (0.625, 7)
    """
    check_level(level)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    (items, n_items), (annotators, n_annotators) = relabel(item), relabel(annotator)
    if items.size == 0:
        return Estimate(None, "empty_group")
    value = float(statistic(np.ones((1, items.size)))[0])
    if np.isnan(value):
        return Estimate(None, "no_variation")

    draws = np.empty(n_draws)
    step = max(1, 4_000_000 // items.size)
    for start in range(0, n_draws, step):
        rows = slice(start, min(start + step, n_draws))
        size = rows.stop - rows.start
        w = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size)
        v = rng.multinomial(n_annotators, np.full(n_annotators, 1 / n_annotators), size)
        weights = (w[:, items] * v[:, annotators]).astype(np.float64)
        drawn = weights.sum(axis=1) > 0
        draws[rows] = np.nan
        draws[rows][drawn] = statistic(weights[drawn])
    return resampled_estimate(
        value,
        draws,
        level=level,
        method="pigeonhole bootstrap",
        n_items=n_items,
        n_annotators=n_annotators,
        rng=rng,
        note="conservative",
    )


MAX_COUNTED = 2**16  # possible count rows up to which they are counted, not sorted
CHUNK = 2**22  # weights of resamples held in memory at once
CACHED = 2**16  # drawn items at a time: what the cache of a processor holds

# A statistic of count rows: takes how often each row occurs, shape (r, U), and the rows, shape
# (U, C), and returns r values, NaN where it is undefined.
Statistic = Callable[[FloatArray, FloatArray], FloatArray]


def count_rows(counts: npt.ArrayLike) -> FloatArray:
    rows = np.asarray(counts)
    if rows.ndim != 2 or rows.shape[1] < 1:
        raise ValueError(f"`counts` must be items by options, got shape {rows.shape}.")
    if rows.size and (not np.issubdtype(rows.dtype, np.integer) and (rows % 1 != 0).any()):
        raise ValueError("`counts` must hold whole numbers.")
    if rows.size and rows.min() < 0:
        raise ValueError("`counts` must not be negative.")
    return rows.astype(np.float64)


def pairable(rows: FloatArray) -> FloatArray:
    return np.asarray(rows[rows.sum(axis=1) >= 2])


def distinct_rows(rows: FloatArray | IntArray) -> tuple[FloatArray, IntArray]:
    """Distinct count rows, sorted by the last column first, and how often each occurs."""
    # Rows as one number each sort an order of magnitude faster than rows as rows, and few
    # possible numbers need no sorting at all.
    base, width = int(rows.max(initial=0)) + 1, rows.shape[1]
    if base**width > 2**53:
        distinct, n = np.unique(rows, axis=0, return_counts=True)
        return distinct.astype(np.float64), n
    keys = rows[:, -1].astype(np.int64)
    for column in reversed(range(width - 1)):
        keys *= base
        keys += rows[:, column].astype(np.int64, copy=False)
    if base**width <= MAX_COUNTED:
        occurs = np.bincount(keys)
        codes = np.flatnonzero(occurs)
        n = occurs[codes]
    else:
        codes, n = np.unique(keys, return_counts=True)
    return (codes[:, None] // base ** np.arange(width) % base).astype(np.float64), n


def estimate_with_interval(
    statistic: Statistic,
    rows: FloatArray,
    reason: Reason,
    n_draws: int,
    rng: np.random.Generator | None,
    level: float,
    n: IntArray | None = None,
    *,
    item_by_item: bool = False,
) -> Estimate:
    """Statistic of all rows, with an item-bootstrap interval if `rng` is given.

    With `n` the rows are distinct and row i occurs ``n[i]`` times. With `item_by_item` the same
    seed draws the same items, however many of them have the same row.
    """
    check_level(level)
    distinct, n = distinct_rows(rows) if n is None else (rows, n)
    n_items = int(n.sum())
    if n_items == 0:
        return Estimate(None, "no_pairs" if reason == "no_pairs" else "too_few_items")
    value = float(statistic(n[None, :].astype(np.float64), distinct)[0])
    if np.isnan(value):
        return Estimate(None, reason)
    if rng is None:
        return Estimate(value)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    if n_items < 2:
        return Estimate(value, interval_reason="too_few_items")
    draws = np.empty(n_draws)
    step = max(1, CHUNK // n.size)
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        draws[start : start + size] = statistic(
            _resamples(n, size, rng, item_by_item=item_by_item), distinct
        )
    return resampled_estimate(
        value, draws, level=level, method="item bootstrap", n_items=n_items, rng=rng
    )


def _resamples(
    n: IntArray, size: int, rng: np.random.Generator, *, item_by_item: bool
) -> FloatArray:
    """How often each row occurs in resamples of the items, shape (size, U)."""
    n_items = int(n.sum())
    if n.size < n_items / 4 and not item_by_item:
        return rng.multinomial(n_items, n / n_items, size).astype(np.float64)
    # Where most rows are distinct, counting drawn items is faster than drawing their counts.
    counts = n.astype(np.intp)  # 32 bits in a browser
    code = None if n.size == n_items else np.repeat(np.arange(n.size), counts)
    weights = np.empty((size, n.size))
    if n_items > CACHED:
        for own, times in zip(weights, resampled_weights(n_items, size, rng, code), strict=True):
            own[:] = times
        return weights
    step = CACHED // n_items
    for start in range(0, size, step):
        part = weights[start : start + step]
        drawn = rng.integers(0, n_items, (len(part), n_items), dtype=np.int32)
        row = drawn if code is None else code[drawn]
        cell = row + np.arange(len(part))[:, None] * n.size
        part[:] = np.bincount(cell.ravel(), minlength=part.size).reshape(part.shape)
    return weights


def ratio(numerator: FloatArray, denominator: FloatArray, undefined: float = np.nan) -> FloatArray:
    out = np.full(np.shape(numerator), undefined)
    return np.asarray(np.divide(numerator, denominator, out=out, where=denominator != 0))
