"""A judge's signal calibrated by people's answers, with the uncertainty of the calibration."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import BoolArray, Estimate, IntArray, Reason
from analysis.stats.core.shared_variance import Sharing
from extras.estimation.stats.outcome_models import cross_fitted, isotonic
from extras.estimation.stats.scores import FEWEST, Sampled, interval_of_scores


@dataclass(frozen=True)
class CalibratedMean:
    """Mean of the calibrated signal, and whether the calibration can be trusted.

    Attributes
    ----------
    mean : Estimate
    outside : float or None
        Share of the items whose signal lies beyond those of all answered items.
    residual : GeneralDifference
        Mean of the answers less their predictions by the other folds: far from 0 if the
        calibration does not fit these items.
    oracle_share : float or None
        Share of the variance that comes from learning the calibration.
    n_answered, n_items : int
        Items with an answer from which it was learned, and the items of the mean.
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
        What people answered, 0 to 1; NaN where nobody did.
    signal : array_like of float, shape (n_items,)
        What the judge says, 0 to 1; items with NaN are left out.
    sharing : Sharing
        What the items share, with the people who answered.
    folds : array_like of int, shape (n_items,)
        Items that share a persona belong to one fold.
    of : array_like of bool, shape (n_items,), optional
        The items of the mean, for example those of one system; the correction is learned from
        all. Without it, all items.
    level : float, default 0.95

    Returns
    -------
    CalibratedMean

    Notes
    -----
    The correction is the increasing function with the least squares; the prediction of an item
    is learned from the folds that it is not in. The variance is that of the mean prediction
    (`Sharing.spread`) and of the correction itself: the estimate without the answers of one fold,
    for each of K folds, :math:`\frac{K-1}K\sum(\hat\theta_{-k}-\bar\theta)^2` with K - 1 degrees
    of freedom, as in causal judge evaluation [1]_. Folds hold personas together, but not questions
    and people, so it is at least the variance of the mean residual with all that items share.

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
    predicted = cross_fitted(isotonic, items.target, items.signal, items.answered, parts)
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
    """The mean if the answers of one fold were not known."""
    known = items.answered & (parts != fold)
    return float(isotonic(items.signal[known], items.target[known], items.signal[used]).mean())
