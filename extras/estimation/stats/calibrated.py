"""Means over all judged items from a judge's signal, calibrated on people's answers."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize

from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import BoolArray, Estimate, FloatArray, IntArray, Reason
from analysis.stats.core.shared_variance import Sharing
from extras.estimation.stats.scores import FEWEST, Sampled, interval_of_scores, width


def isotonic(x: FloatArray, y: FloatArray | IntArray, at: FloatArray) -> FloatArray:
    """Values at `at` of the least-squares increasing function; constant outside `x`.

    Examples
    --------
    >>> isotonic(np.array([0.1, 0.5, 0.9]), np.array([0.4, 0.2, 1.0]), np.array([0.3, 0.95]))
    array([0.3, 1. ])
    """
    distinct, group = np.unique(x, return_inverse=True)
    weight = np.bincount(group).astype(np.float64)
    fitted = optimize.isotonic_regression(np.bincount(group, weights=y) / weight, weights=weight).x
    return np.asarray(np.interp(at, distinct, fitted), dtype=np.float64)


def cross_fitted(
    target: FloatArray, signal: FloatArray, known: BoolArray, folds: IntArray
) -> FloatArray:
    """Each item's prediction by a curve fitted without its fold, shape (n_items,)."""
    fitted = np.empty(target.size)
    for fold in np.unique(folds):
        held_out = folds == fold
        learned = known & ~held_out
        if not learned.any():
            learned = known
        fitted[held_out] = isotonic(signal[learned], target[learned], signal[held_out])
    return fitted


@dataclass(frozen=True)
class CalibratedMean:
    """Mean of the calibrated signal, and whether the calibration can be trusted.

    Attributes
    ----------
    mean : Estimate
    outside : float or None
        Share of items whose signal is outside the range of the answered items.
    residual : GeneralDifference
        Mean of the answers minus their predictions by the other folds: far from 0 if the
        calibration does not fit these items.
    oracle_share : float or None
        Share of the variance that comes from learning the calibration.
    n_answered, n_items : int
        Answered items used for calibration, and the items of the mean.
    reason : str or None
        ``"too_few_items"`` with fewer than ten answered items or fewer than ten in the mean, or
        fewer than two folds.
    """

    mean: Estimate
    outside: float | None
    residual: GeneralDifference
    oracle_share: float | None
    n_answered: int
    n_items: int
    reason: Reason | None = None


def calibrated_mean(
    target: npt.ArrayLike,
    signal: npt.ArrayLike,
    sharing: Sharing,
    *,
    folds: npt.ArrayLike,
    of: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> CalibratedMean:
    r"""Mean of a judge's signal on all items after an increasing correction.

    Parameters
    ----------
    target : array_like of float, shape (n_items,)
        People's answers, 0 to 1; NaN where there are none.
    signal : array_like of float, shape (n_items,)
        The judge's signal, 0 to 1; items with NaN are left out.
    sharing : Sharing
        What the items share, including the people who answered.
    folds : array_like of int, shape (n_items,)
        Items that share a persona must be in one fold.
    of : array_like of bool, shape (n_items,), optional
        The items of the mean, for example those of one system; all items by default. The correction
        is learned from all.
    level : float, default 0.95

    Returns
    -------
    CalibratedMean

    Notes
    -----
    The correction is the least-squares increasing function; each item's prediction is learned from
    the other folds. The variance is that of the mean prediction (`Sharing.spread`) and of the
    correction itself: the estimate without the answers of one fold, for each of K folds,
    :math:`\frac{K-1}K\sum(\hat\theta_{-k}-\bar\theta)^2` with K - 1 degrees of freedom, as in
    causal judge evaluation [1]_. Folds hold personas together, but not questions and people, so it
    is at least the variance of the mean residual with all that items share.

    References
    ----------
    .. [1] E. Landesberg, "Causal Judge Evaluation: Calibrated Surrogate Metrics for LLM
       Systems", 2025.

    Examples
    --------
    >>> people = np.where(np.arange(400) < 100, np.arange(400) % 4 > 0, np.nan)
    >>> judge = np.where(np.arange(400) % 4 > 0, 0.6, 0.5)
    >>> sharing = Sharing.of_items(400, {"persona": np.arange(400) // 2})
    >>> found = calibrated_mean(people, judge, sharing, folds=np.arange(400) // 2 % 5)
    >>> round(found.mean.value, 3), found.outside
    (0.75, 0.0)
    """
    items = Sampled.of(target, signal, sharing)
    judged = ~np.isnan(np.asarray(signal, dtype=np.float64))
    parts = np.asarray(folds, dtype=np.int64)[judged]
    used = np.ones(items.n_items, dtype=np.bool_)
    if of is not None:
        used = np.asarray(of, dtype=np.bool_)[judged]
    known = np.unique(parts[items.answered])
    sizes = items.n_answered, int(used.sum())
    if min(items.n_answered, sizes[1]) < FEWEST or known.size < 2:
        nothing = GeneralDifference(None, reason="too_few_items")
        why: Reason = "too_few_items"
        return CalibratedMean(Estimate(None, why), None, nothing, None, *sizes, why)
    predicted = cross_fitted(items.target, items.signal, items.answered, parts)
    value = float(predicted[used].mean())
    left_out = [_without(items, parts, fold, used) for fold in known]
    k = known.size
    oracle = (k - 1) / k * float(((np.array(left_out) - np.mean(left_out)) ** 2).sum()), k - 1.0
    residuals = (items.target - predicted)[items.answered]
    spread = items.known.spread(residuals)
    if spread.variance[0] > oracle[0]:
        oracle = float(spread.variance[0]), float(spread.degrees_of_freedom[0])
    scores = np.where(used, predicted - value, 0.0) * items.n_items / sizes[1]
    own = float(items.sharing.spread(scores).variance[0])
    mean = interval_of_scores(
        value, scores, items, level=level, method="calibrated t", oracle=oracle
    )
    checked = items.answered & used
    residual = np.where(checked, items.target - predicted, np.nan)
    ends = items.signal[items.answered]
    beyond = (items.signal[used] < ends.min()) | (items.signal[used] > ends.max())
    return CalibratedMean(
        mean=mean,
        outside=float(beyond.mean()),
        residual=general_difference(residual, items.sharing, level=level),
        oracle_share=oracle[0] / (oracle[0] + own) if oracle[0] + own > 0 else None,
        n_answered=sizes[0],
        n_items=sizes[1],
    )


def _without(items: Sampled, parts: IntArray, fold: int, used: BoolArray) -> float:
    """The mean without the answers of one fold."""
    known = items.answered & (parts != fold)
    return float(isotonic(items.signal[known], items.target[known], items.signal[used]).mean())


@dataclass(frozen=True)
class WeightedMean:
    """Mean of people's answers to all items, with each answer weighted by 1/probability.

    Attributes
    ----------
    alone : Estimate
        From the answered items alone.
    powered : Estimate
        With the judge's signal.
    weight : float or None
        Weight of the signal in `powered`, 0 to 1.
    n_answered, n_items : int
        Items with an answer, and all items.
    reason : str or None
        Why there is no estimate: ``"too_few_items"`` with fewer than ten answered or ten other
        items.
    """

    alone: Estimate
    powered: Estimate
    weight: float | None
    n_answered: int
    n_items: int
    reason: Reason | None = None


def weighted_mean(
    target: npt.ArrayLike,
    signal: npt.ArrayLike,
    sharing: Sharing,
    *,
    probability: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> WeightedMean:
    r"""Mean over all items from answers to some, drawn with known probabilities.

    Parameters
    ----------
    target : array_like of float, shape (n_items,)
        People's answers, 0 to 1; NaN where there are none.
    signal : array_like of float, shape (n_items,)
        The judge's signal, 0 to 1; items with NaN are left out.
    sharing : Sharing
        What the items share, including the people who answered.
    probability : array_like of float, shape (n_items,), optional
        Probability that an item was drawn for people; equal by default.
    level : float, default 0.95

    Returns
    -------
    WeightedMean

    Notes
    -----
    With :math:`w_i=1/\pi_i` and a prediction :math:`m_i` for every item, the estimate is
    :math:`\bar m+\sum w_i(y_i-m_i)/\sum w_i`, the sums over answered items. It is unbiased for any
    prediction [1]_. `alone` has :math:`m=0`, `powered` :math:`m=\lambda f` with the :math:`\lambda`
    from 0 to 1 of least variance. The error is a mean of item scores; its variance allows for
    everything that items share (`Sharing.spread`).

    References
    ----------
    .. [1] T. Zrnic and E. J. Candès, "Active Statistical Inference", ICML 2024.

    Examples
    --------
    >>> item = np.arange(400)
    >>> likely, chance = item % 4 == 0, np.where(item % 4 == 0, 0.5, 0.125)
    >>> is_drawn = np.where(likely, item // 4 % 2 == 0, item // 4 % 8 == 0)
    >>> people, judge = np.where(is_drawn, ~likely, np.nan), np.where(likely, 0.3, 0.9)
    >>> sharing = Sharing.of_items(400, {"persona": item // 2})
    >>> found = weighted_mean(people, judge, sharing, probability=chance)
    >>> round(found.alone.value, 2), round(found.powered.value, 2)
    (0.76, 0.75)
    """
    items = Sampled.of(target, signal, sharing)
    judged = ~np.isnan(np.asarray(signal, dtype=np.float64))
    chance = np.ones(judged.size) if probability is None else np.asarray(probability)
    if chance.shape != judged.shape or not ((chance > 0) & (chance <= 1)).all():
        raise ValueError("`probability` must have one value above 0, up to 1, for each item.")
    sizes = items.n_answered, items.n_items
    if not items.is_enough:
        nothing = Estimate(None, "too_few_items")
        return WeightedMean(nothing, nothing, None, *sizes, "too_few_items")
    weights = np.where(items.answered, 1 / chance[judged], 0.0)
    weights *= items.n_items / weights.sum()
    answers = np.where(items.answered, items.target, 0.0)
    alone = _centred(answers, weights)
    from_signal = _centred(items.signal, weights) - (items.signal - items.signal.mean())
    scale = float((from_signal**2).sum())
    tuned = float(alone @ from_signal) / scale if scale > 1e-15 else 0.0
    tuned = min(max(tuned, 0.0), 1.0)
    by_nothing, by_signal = (
        _augmented(answers, prediction, weights, items, level)
        for prediction in (np.zeros(items.n_items), tuned * items.signal)
    )
    widths = width(by_nothing), width(by_signal)
    if widths[0] is not None and widths[1] is not None and widths[1] > widths[0]:
        by_signal, tuned = by_nothing, 0.0
    return WeightedMean(by_nothing, by_signal, tuned, *sizes)


def _centred(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Scores with mean 0 of a weighted mean; the weights have mean 1."""
    return np.asarray(weights * (values - (weights * values).mean()), dtype=np.float64)


def _augmented(
    answers: FloatArray, model: FloatArray, weights: FloatArray, items: Sampled, level: float
) -> Estimate:
    rest = answers - model
    value = float(model.mean() + (weights * rest).mean())
    scores = model - model.mean() + _centred(rest, weights)
    return interval_of_scores(value, scores, items, level=level, method="general t")
