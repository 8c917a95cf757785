"""Statistics of count rows and their item-bootstrap intervals.

A nominal statistic depends only on how many annotators of an item chose each option, so a
resample of items is a multinomial draw over the few distinct count rows: its cost does not grow
with the number of items.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from analysis.stats.core.bootstrap import resampled_estimate, resampled_weights
from analysis.stats.core.checks import check_level
from analysis.stats.core.few_columns import row_sums
from analysis.stats.core.results import Estimate, FloatArray, IntArray, Reason

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
    return np.asarray(rows[row_sums(rows) >= 2])


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
    code = None if n.size == n_items else np.repeat(np.arange(n.size), n)
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
