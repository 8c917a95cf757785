"""Shared parts of estimates whose error is a mean over items."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.comparison.general_difference import interval_of, why_not
from analysis.stats.core.results import BoolArray, Estimate, FloatArray, check_level
from analysis.stats.core.shared_variance import Sharing

FEWEST = 10  # items with answers, and items without


@dataclass(frozen=True, eq=False)
class Sampled:
    """Items that a judge judged and people partly answered.

    Attributes
    ----------
    target : ndarray of float, shape (n_items,)
        People's answers, from 0 to 1; NaN where there are none.
    signal : ndarray of float, shape (n_items,)
        The judge's signal for every item, from 0 to 1.
    sharing : Sharing
        What the items have in common.
    answered : ndarray of bool, shape (n_items,)
    known : Sharing
        What the answered items have in common.
    """

    target: FloatArray
    signal: FloatArray
    sharing: Sharing
    answered: BoolArray
    known: Sharing

    @classmethod
    def of(cls, target: npt.ArrayLike, signal: npt.ArrayLike, sharing: Sharing) -> "Sampled":
        """Check the arrays and leave out items without a signal."""
        y, f = np.asarray(target, dtype=np.float64), np.asarray(signal, dtype=np.float64)
        if not y.shape == f.shape == (sharing.n,):
            shapes = f"{y.shape} and {f.shape}"
            raise ValueError(f"Targets and signals must have shape ({sharing.n},), got {shapes}.")
        judged = ~np.isnan(f)
        if not judged.all():
            y, f, sharing = y[judged], f[judged], sharing.take(judged)
        for name, values in (("target", y), ("signal", f)):
            if ((values < 0) | (values > 1)).any():
                raise ValueError(f"`{name}` must lie in [0, 1].")
        answered = ~np.isnan(y)
        return cls(y, f, sharing, answered, sharing.take(answered))

    @property
    def n_items(self) -> int:
        return int(self.target.size)

    @property
    def n_answered(self) -> int:
        return int(self.answered.sum())

    @property
    def is_enough(self) -> bool:
        return min(self.n_answered, self.n_items - self.n_answered) >= FEWEST


def interval_of_scores(
    value: float,
    scores: FloatArray,
    items: Sampled,
    *,
    level: float,
    method: str,
    oracle: tuple[float, float] = (0.0, math.inf),
    quantiles: tuple[float, float] | None = None,
) -> Estimate:
    """Estimate of a share whose error is the mean of `scores`, shape (n_items,).

    `oracle` is the variance of an independent error and its degrees of freedom; `quantiles` replace
    those of t. Degrees of freedom never exceed those of the answered items.
    """
    check_level(level)
    if reason := why_not(items.known):
        return within(Estimate(value, interval_reason=reason))
    spread = items.sharing.spread(scores)
    own, (more, more_df) = float(spread.variance[0]), oracle
    variance = own + more
    if variance <= 1e-18:
        return within(Estimate(value, interval_reason="no_variation"))
    alone = items.known.spread(scores[items.answered]).degrees_of_freedom[0]
    df_own = min(float(spread.degrees_of_freedom[0]), float(alone))
    df = variance**2 / (own**2 / df_own + more**2 / more_df)
    t = float(special.stdtrit(df, (1 + level) / 2))
    low, high = quantiles or (-t, t)
    se = math.sqrt(variance)
    ends = value + low * se, value + high * se
    return within(Estimate(value, interval=interval_of(*ends, level, method, items.known)))


def within(estimate: Estimate) -> Estimate:
    """Clip a share to 0..1."""
    if estimate.value is None:
        return estimate
    interval = estimate.interval
    if interval is not None:
        low, high = (min(max(end, 0.0), 1.0) for end in (interval.low, interval.high))
        if not low < high:
            return Estimate(None, "not_identified")
        interval = replace(interval, low=low, high=high)
    return replace(estimate, value=min(max(estimate.value, 0.0), 1.0), interval=interval)


def width(estimate: Estimate) -> float | None:
    """Width of the interval; None without one."""
    return None if estimate.interval is None else estimate.interval.high - estimate.interval.low


def answers_saved(n_answered: int, alone: Estimate, combined: Estimate) -> float | None:
    """Number of further answered items that would give as narrow an interval without a judge.

    Parameters
    ----------
    n_answered : int
        Items with an answer.
    alone, combined : Estimate
        From the answers alone, and with a judge.

    Returns
    -------
    float or None
        Below 0 if the combined interval is wider; None without both intervals.

    Examples
    --------
    >>> from analysis.stats.core.results import Interval
    >>> wide, narrow = Interval(0.4, 0.6, 0.95, "t", 50), Interval(0.45, 0.55, 0.95, "t", 50)
    >>> found = answers_saved(50, Estimate(0.5, interval=wide), Estimate(0.5, interval=narrow))
    >>> round(found, 6)
    150.0
    """
    widths = width(alone), width(combined)
    if widths[0] is None or widths[1] is None:
        return None
    return n_answered * ((widths[0] / widths[1]) ** 2 - 1)
