"""Prediction-powered mean: people's answers to some items, a judge's signal for all."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.core.results import (
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Reason,
    check_level,
)
from analysis.stats.core.shared_variance import Sharing
from extras.estimation.stats.scores import FEWEST, Sampled, interval_of_scores, width

FEW = 30  # answered items below which quantiles come from a bootstrap
DRAWS = 1000


@dataclass(frozen=True)
class PoweredMean:
    """Mean of people's answers to all items.

    Attributes
    ----------
    alone : Estimate
        From the answered items alone.
    powered : Estimate
        With the judge's signal.
    weight : float or None
        Weight of the signal, 0 to 1; 0 ignores the judge. With strata, the mean over items.
    n_answered, n_items : int
        Items with an answer, and all items.
    n_strata : int
        Strata that were estimated separately.
    reason : str or None
        Why there is no estimate: ``"too_few_items"`` with fewer than ten answered or ten other
        items.
    """

    alone: Estimate
    powered: Estimate
    weight: float | None
    n_answered: int
    n_items: int
    n_strata: int = 0
    reason: Reason | None = None


def tuned_weight(
    target: FloatArray,
    signal: FloatArray,
    more: FloatArray,
    *,
    among: int | None = None,
) -> float:
    r"""Weight of the signal that minimises the variance, between 0 and 1.

    Parameters
    ----------
    target, signal : ndarray of float, shape (n,)
        Values for answered items.
    more : ndarray of float, shape (N,)
        Signal for the other items.
    among : int, optional
        Number of answered items of the estimate, if the weight is learned from a part of them.

    Notes
    -----
    :math:`\operatorname{cov}(Y,f)/((1+n/N)\operatorname{var}f)`, the covariance with divisor n and
    the variance over all items with divisor n + N - 1.

    Examples
    --------
    >>> tuned_weight(np.array([0.0, 1, 0, 1]), np.array([0.0, 1, 0, 1]), np.array([0.0, 1] * 50))
    0.952...
    """
    n = among or target.size
    spread = float(np.concatenate([signal, more]).var(ddof=1))
    if spread <= 1e-15:
        return 0.0
    covariance = float(((target - target.mean()) * (signal - signal.mean())).mean())
    return min(max(covariance / ((1 + n / more.size) * spread), 0.0), 1.0)


def ppi_mean(
    target: npt.ArrayLike,
    signal: npt.ArrayLike,
    more: npt.ArrayLike,
    *,
    weight: float | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Prediction-powered mean of independent items, with a normal interval.

    Parameters
    ----------
    target, signal : array_like of float, shape (n,)
        People's answers and the judge's signal for a random sample of the items.
    more : array_like of float, shape (N,)
        The judge's signal for other items.
    weight : float, optional
        Weight of the signal; by default from `tuned_weight`.
    level : float, default 0.95

    Returns
    -------
    Estimate

    Notes
    -----
    :math:`\bar Y+\lambda(\bar f_N-\bar f_n)` with the weight :math:`\lambda` and the variance
    :math:`\operatorname{var}(Y-\lambda f)/n+\lambda^2\operatorname{var}(f)/N` [1]_, divisors n
    and N. `powered_mean` is for items that share people, personas and questions.

    References
    ----------
    .. [1] A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: Efficient Prediction-Powered
       Inference", 2023.

    Examples
    --------
    >>> found = ppi_mean([1, 0, 1, 1] * 10, [1, 0, 0.5, 1] * 10, [1, 0, 0.5, 1] * 100)
    >>> round(found.value, 3), round(found.interval.low, 3)
    (0.75, 0.675)
    """
    check_level(level)
    y, f, others = (np.asarray(values, dtype=np.float64) for values in (target, signal, more))
    if y.shape != f.shape or y.ndim != 1:
        raise ValueError(f"`target` and `signal` have the shapes {y.shape} and {f.shape}.")
    if min(y.size, others.size) < 2:
        return Estimate(None, "too_few_items")
    if weight is None:
        weight = tuned_weight(y, f, others)
    value = float((y - weight * f).mean() + weight * others.mean())
    se = _independent_error(y, f, others, weight)
    if se <= 1e-9:
        return Estimate(value, interval_reason="no_variation")
    half = float(special.ndtri((1 + level) / 2)) * se
    return Estimate(value, interval=Interval(value - half, value + half, level, "normal", y.size))


def powered_mean(
    target: npt.ArrayLike,
    signal: npt.ArrayLike,
    sharing: Sharing,
    *,
    strata: npt.ArrayLike | None = None,
    folds: npt.ArrayLike | None = None,
    level: float = 0.95,
    rng: np.random.Generator,
) -> PoweredMean:
    r"""Prediction-powered mean of items that share people, personas and questions.

    Parameters
    ----------
    target : array_like of float, shape (n_items,)
        People's answers, 0 to 1; NaN where there are none. The answered items are a random sample
        of all items, or of each stratum.
    signal : array_like of float, shape (n_items,)
        The judge's signal, 0 to 1; items with NaN are left out.
    sharing : Sharing
        What the items share, including the people who answered.
    strata : array_like of int, shape (n_items,), optional
        Groups of items that the sample was drawn from. Those with fewer than ten answered or ten
        other items are merged.
    folds : array_like of int, shape (n_items,), optional
        If given, a fold's weight is learned from the other folds.
    level : float, default 0.95
    rng : numpy.random.Generator
        Used for the bootstrap below 30 answered items.

    Returns
    -------
    PoweredMean

    Notes
    -----
    As `ppi_mean`, with the shares of strata among all items as their weights. The estimate is the
    mean of one score for each item; the variance of that mean allows for all that items share
    (`Sharing.spread`), with a t distribution. Below 30 answered items the quantiles are those of a
    bootstrap t over items of each stratum, with the weight tuned again in each resample; the mean
    signal of the other items is drawn from its normal distribution. The interval from answers alone
    is computed in the same way with weight 0, and replaces the other if it is narrower.

    Examples
    --------
    >>> people = np.where(np.arange(400) < 100, np.arange(400) % 4 > 0, np.nan)
    >>> judge = np.where(np.arange(400) % 4 > 0, 0.9, 0.3)
    >>> sharing = Sharing.of_items(400, {"persona": np.arange(400) // 2})
    >>> found = powered_mean(people, judge, sharing, rng=np.random.default_rng(1))
    >>> round(found.powered.value, 3), found.weight
    (0.75, 1.0)
    """
    check_level(level)
    items = Sampled.of(target, signal, sharing)
    nothing = Estimate(None, "too_few_items")
    if not items.is_enough:
        sizes = items.n_answered, items.n_items
        return PoweredMean(nothing, nothing, None, *sizes, reason="too_few_items")
    judged = ~np.isnan(np.asarray(signal, dtype=np.float64))
    groups = _joined(_of_judged(strata, judged), items)
    few = items.n_answered < FEW
    parts = None if few else _of_judged(folds, judged)
    weights = _weights(items, groups, parts)
    means = []
    for used in (np.zeros(items.n_items), weights):
        value, scores = _scores(items, groups, used)
        quantiles, method = None, "general t"
        if few:
            tuned = used is weights
            quantiles, method = _bootstrap_t(items, groups, tuned, level, rng), "bootstrap t"
        means.append(
            interval_of_scores(
                value, scores, items, level=level, method=method, quantiles=quantiles
            )
        )
    alone, powered = means
    widths = width(alone), width(powered)
    if widths[0] is not None and widths[1] is not None and widths[1] > widths[0]:
        powered, weights = alone, np.zeros(items.n_items)
    return PoweredMean(
        alone=alone,
        powered=powered,
        weight=float(weights.mean()),
        n_answered=items.n_answered,
        n_items=items.n_items,
        n_strata=int(groups.max()) + 1,
    )


def _of_judged(codes: npt.ArrayLike | None, judged: npt.NDArray[np.bool_]) -> IntArray | None:
    return None if codes is None else np.asarray(codes, dtype=np.int64)[judged]


def _joined(strata: IntArray | None, items: Sampled) -> IntArray:
    """Codes 0..S-1 of strata; those with too few items are merged."""
    if strata is None:
        return np.zeros(items.n_items, dtype=np.int64)
    values, codes = np.unique(strata, return_inverse=True)
    sizes = np.bincount(codes)
    known = np.bincount(codes[items.answered], minlength=values.size)
    small = (known < FEWEST) | (sizes - known < FEWEST)
    rest = np.isin(codes, np.flatnonzero(small))
    some = items.answered & rest
    if rest.any() and min(some.sum(), rest.sum() - some.sum()) < FEWEST:
        # If the merged stratum is still too small, it joins the largest one.
        small[int(np.where(small, -1, sizes).argmax())] = True
        rest = np.isin(codes, np.flatnonzero(small))
    _, joined = np.unique(np.where(rest, values.size, codes), return_inverse=True)
    return joined.astype(np.int64)


def _weights(items: Sampled, groups: IntArray, folds: IntArray | None) -> FloatArray:
    """The weight of the signal at each item; for unanswered items, the stratum's mean."""
    weights = np.zeros(items.n_items)
    for group in range(int(groups.max()) + 1):
        rows = groups == group
        known, others = np.flatnonzero(rows & items.answered), rows & ~items.answered
        y, f, more = items.target[known], items.signal[known], items.signal[others]
        own = np.full(known.size, tuned_weight(y, f, more))
        if folds is not None:
            for fold in np.unique(folds[known]):
                held_out = folds[known] == fold
                if (~held_out).sum() >= FEWEST:
                    learned = y[~held_out], f[~held_out], more
                    own[held_out] = tuned_weight(*learned, among=known.size)
        weights[known], weights[others] = own, own.mean()
    return weights


def _scores(items: Sampled, groups: IntArray, weights: FloatArray) -> tuple[float, FloatArray]:
    """The estimate, and centred scores whose mean is its error."""
    scores, values = np.zeros(items.n_items), np.zeros(items.n_items)
    for group in range(int(groups.max()) + 1):
        rows = groups == group
        known, others = rows & items.answered, rows & ~items.answered
        # A fold's weight also multiplies the mean signal of the other items.
        more = float(items.signal[others].mean())
        gained = items.target[known] - weights[known] * (items.signal[known] - more)
        values[rows] = gained.mean()
        scores[known] = (gained - gained.mean()) * rows.sum() / known.sum()
        own = weights[others] * (items.signal[others] - more)
        scores[others] = own * rows.sum() / others.sum()
    value = float(values.mean())
    return value, scores + values - value


def _independent_error(y: FloatArray, f: FloatArray, more: FloatArray, weight: float) -> float:
    return math.sqrt((y - weight * f).var() / y.size + weight**2 * more.var() / more.size)


def _bootstrap_t(
    items: Sampled, groups: IntArray, tuned: bool, level: float, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Quantiles of the error divided by its standard error, from resampled items.

    None if all answers are alike.
    """
    total = np.zeros((2, DRAWS + 1))  # value and variance, first of the data, then of the resamples
    for group in range(int(groups.max()) + 1):
        rows = groups == group
        y, f = (values[rows & items.answered] for values in (items.target, items.signal))
        more = items.signal[rows & ~items.answered]
        share = rows.mean()
        drawn = rng.integers(0, y.size, (DRAWS, y.size))
        drawn = np.vstack([np.arange(y.size), drawn])
        mean = more.mean() + more.std() / math.sqrt(more.size) * rng.standard_normal(DRAWS + 1)
        mean[0] = more.mean()
        ys, fs = y[drawn], f[drawn]
        weight = np.zeros(DRAWS + 1)
        if tuned:
            covariance = (ys * fs).mean(axis=1) - ys.mean(axis=1) * fs.mean(axis=1)
            spread = (1 + y.size / more.size) * float(np.concatenate([f, more]).var(ddof=1))
            if spread > 1e-15:
                weight = np.clip(covariance / spread, 0, 1)
        rest = ys - weight[:, None] * fs
        # Half a differing answer, so that a resample without variation still has an error.
        least = np.ptp(rest[0]) ** 2 * 0.5 / y.size * (1 - 0.5 / y.size)
        own = np.maximum(rest.var(axis=1), least) / y.size
        total[0] += share * (rest.mean(axis=1) + weight * mean)
        total[1] += share**2 * (own + weight**2 * more.var() / more.size)
    if total[1].min() <= 1e-15:
        return None
    t = (total[0, 1:] - total[0, 0]) / np.sqrt(total[1, 1:])
    high, low = np.quantile(t, [(1 + level) / 2, (1 - level) / 2])
    return -float(high), -float(low)
