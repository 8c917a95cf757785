"""Means of items that were drawn for people with probabilities of their own."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.core.results import Estimate, FloatArray, Reason
from analysis.stats.core.shared_variance import Sharing
from extras.estimation.stats.outcome_models import cross_fitted, logistic
from extras.estimation.stats.scores import Sampled, interval_of_scores, width


@dataclass(frozen=True)
class WeightedMean:
    """Mean of what people would answer on all items, each answer weighing 1/probability.

    Attributes
    ----------
    alone : Estimate
        From the answered items alone.
    powered : Estimate
        With the judge's signal.
    modelled : Estimate
        With a model of people's answers given the signal: the efficient influence function.
    weight : float or None
        Weight of the signal in `powered`, 0 to 1.
    n_answered, n_items : int
        Items with an answer, and all items.
    reason : str or None
        Why there is no estimate: ``"too_few_items"`` with fewer than ten answered items, or ten
        others.
    """

    alone: Estimate
    powered: Estimate
    modelled: Estimate
    weight: float | None
    n_answered: int
    n_items: int
    reason: Reason | None = None


def weighted_mean(
    target: npt.ArrayLike,
    signal: npt.ArrayLike,
    sharing: Sharing,
    *,
    folds: npt.ArrayLike,
    probability: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> WeightedMean:
    r"""Mean over all items from answers on some, drawn with known probabilities.

    Parameters
    ----------
    target : array_like of float, shape (n_items,)
        What people answered, 0 to 1; NaN where nobody did.
    signal : array_like of float, shape (n_items,)
        What the judge says, 0 to 1; items with NaN are left out.
    sharing : Sharing
        What the items share, with the people who answered.
    folds : array_like of int, shape (n_items,)
        The model's prediction for a fold's items is learned from the other folds.
    probability : array_like of float, shape (n_items,), optional
        With which an item was drawn for people; any equal ones if it is left out.
    level : float, default 0.95

    Returns
    -------
    WeightedMean

    Notes
    -----
    With :math:`w_i=1/\pi_i` and a prediction :math:`m_i` for every item, the estimate is
    :math:`\bar m+\sum w_i(y_i-m_i)/\sum w_i`, the sums over answered items. It is right whatever
    the prediction [1]_. `alone` has :math:`m=0`, `powered` :math:`m=\lambda f` with the
    :math:`\lambda` from 0 to 1 of least variance, `modelled` the prediction of a logistic curve
    of the log odds of the signal. The error is a mean of scores of items; its variance allows for
    all that items share (`Sharing.spread`).

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
    >>> found = weighted_mean(people, judge, sharing, folds=item % 5, probability=chance)
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
        return WeightedMean(nothing, nothing, nothing, None, *sizes, "too_few_items")
    weights = np.where(items.answered, 1 / chance[judged], 0.0)
    weights *= items.n_items / weights.sum()
    answers = np.where(items.answered, items.target, 0.0)
    alone = _centred(answers, weights)
    from_signal = _centred(items.signal, weights) - (items.signal - items.signal.mean())
    scale = float((from_signal**2).sum())
    tuned = float(alone @ from_signal) / scale if scale > 1e-15 else 0.0
    tuned = min(max(tuned, 0.0), 1.0)
    model = cross_fitted(
        logistic, answers, items.signal, items.answered, np.asarray(folds, np.int64)[judged]
    )
    by_nothing, by_signal, by_model = (
        _augmented(answers, prediction, weights, items, level)
        for prediction in (np.zeros(items.n_items), tuned * items.signal, model)
    )
    widths = width(by_nothing), width(by_signal)
    if widths[0] is not None and widths[1] is not None and widths[1] > widths[0]:
        by_signal, tuned = by_nothing, 0.0
    return WeightedMean(by_nothing, by_signal, by_model, tuned, *sizes)


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
