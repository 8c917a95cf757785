"""Intervals from resampling."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from analysis.stats.core.checks import check_level, relabel
from analysis.stats.core.results import Estimate, FloatArray, IntArray, Interval, Reason, seed_of

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
    """Estimate with its percentile interval, or the reason why it has none.

    Parameters
    ----------
    value : float
        The estimate.
    draws, level, method, n_items, n_annotators, rng, note
        As for `percentile_interval`.
    undefined : str, default "no_variation"
        Reason if too many draws are undefined.

    Returns
    -------
    Estimate
        No interval if all draws are the same (``"no_variation"``), or if they
        leave out the estimate (``"biased"``).
    """
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
        draws are the same, because that does not make the estimate certain; and if they leave out
        `value`, because chance pushes such a statistic in one direction, twice in a resample.
        `n_draws` counts all draws; `note` gives the number of undefined ones.

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
        # An estimate at the edge, such as 1 of a share, may be out by its last digit.
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
    """Yield, for each resample, how often each unit is in it, shape (n_units,).

    With `kind`, the kind of each unit as codes from 0: how often units of each kind are in it.
    Counting drawn units is an order of magnitude faster than drawing their multinomial counts,
    and one resample at a time stays in the cache.
    """
    n_kinds = n_units if kind is None else int(kind.max(initial=-1)) + 1
    # Numbers of 32 bits are those that 64 bits would give, and short ones need less of the cache.
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
    Row (i, j) has weight :math:`w_i v_j` with multinomial w and v. The variance is about
    :math:`V_I + V_A + V_O`: conservative, up to three times too large where nothing is
    clustered. Memory: blocks of 4 million weights.

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
