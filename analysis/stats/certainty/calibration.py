"""Calibration error, Brier score and discrimination of stated certainty."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ..core.results import (
    FloatArray,
    IntArray,
    Reason,
    known_rows,
    mid_ranks,
)

Binning = Literal["width", "distinct", "mass"]
CertaintyReading = Literal["plain", "half"]

MIN_EACH = 10  # right and wrong answers that an AUROC needs


@dataclass(frozen=True)
class CalibrationBin:
    """One bar of a reliability diagram.

    Attributes
    ----------
    low, high : float
        Smallest and largest certainty in the bin, 1 to 100.
    n, correct : int
        Answers in the bin and those of them that are right.
    confidence : float
        Mean confidence in [0, 1].
    accuracy : float
        ``correct / n``.
    """

    low: float
    high: float
    n: int
    correct: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Calibration:
    """Calibration error over bins.

    Attributes
    ----------
    ece : float or None
        Expected calibration error: mean gap between accuracy and confidence, weighted by the
        answers in the bin.
    mce : float or None
        Maximum calibration error: largest gap of a non-empty bin.
    bins : tuple of CalibrationBin
        Non-empty bins, ascending.
    n, n_missing : int
        Answers used; answers left out without a certainty or without right or wrong.
    reason : str or None
        ``"empty_group"`` if nothing could be used.
    """

    ece: float | None
    mce: float | None
    bins: tuple[CalibrationBin, ...]
    n: int
    n_missing: int
    reason: Reason | None = None


@dataclass(frozen=True)
class Brier:
    """Brier score and its exact parts, ``value = reliability - resolution + uncertainty``.

    Attributes
    ----------
    value : float or None
        Mean squared distance of confidence and outcome; 0 is perfect.
    reliability, resolution, uncertainty : float or None
        Miscalibration, spread of the accuracies over distinct confidences, and the score of the
        constant forecast "base rate".
    n, n_missing : int
        Answers used and left out.
    reason : str or None
        ``"empty_group"`` if nothing could be used.
    """

    value: float | None
    reliability: float | None
    resolution: float | None
    uncertainty: float | None
    n: int
    n_missing: int
    reason: Reason | None = None


@dataclass(frozen=True)
class Discrimination:
    """How well certainty separates right from wrong answers.

    Attributes
    ----------
    auroc : float or None
        Probability that a right answer is more certain than a wrong one; ties count one half.
    auprc_correct, auprc_error : float or None
        Average precision for finding right (wrong) answers by high (low) certainty; compare
        them with their base rates.
    base_rate : float or None
        Share of right answers; the share of errors is one minus it.
    n_right, n_wrong, n_missing : int
        Answers right, wrong, and left out.
    reason : str or None
        ``"empty_group"``; ``"no_variation"`` if all answers are right or all are wrong;
        ``"too_few_items"`` below the least number of either.
    """

    auroc: float | None
    auprc_correct: float | None
    auprc_error: float | None
    base_rate: float | None
    n_right: int
    n_wrong: int
    n_missing: int
    reason: Reason | None = None


def calibration_error(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    *,
    binning: Binning = "width",
    n_bins: int = 10,
    scale: CertaintyReading = "plain",
) -> Calibration:
    r"""Expected and maximum calibration error.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 1 to 100 (0 is accepted too, because models say it); NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    binning : {"width", "distinct", "mass"}, default "width"
        ``"width"``: `n_bins` bins of equal width on the raw certainty. ``"distinct"``: one bin
        per value, preferred if people and models use few values. ``"mass"``: `n_bins` groups
        of nearly equal size in ascending order; one value may then be in two bins.
    n_bins : int, default 10
        Bins for ``"width"`` and ``"mass"``.
    scale : {"plain", "half"}, default "plain"
        Confidence is certainty / 100, or 0.5 + 0.5 certainty / 100 for a reader who reads
        certainty 0 as a coin flip between two options. Bins stay on the raw certainty.

    Returns
    -------
    Calibration

    Raises
    ------
    ValueError
        If the arrays do not fit, a value is out of range or an option is unknown.

    Notes
    -----
    :math:`ECE=\sum_b\frac{n_b}{n}|acc_b-conf_b|`. With ten bins of equal width a certainty
    :math:`c` is in bin :math:`\max(1,\lceil c/10\rceil)`, so 80 is in one bin with 71. The error is
    biased upwards in small samples: below 50 answers, draw no conclusion from it.

    References
    ----------
    .. [1] Guo, Pleiss, Sun and Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> result = calibration_error([80, 80, 80, 81], [1, 1, 0, 1])
    >>> round(result.ece, 4), round(result.mce, 4), [b.n for b in result.bins]
    (0.1475, 0.19, [3, 1])
    """
    if binning not in get_args(Binning):
        raise ValueError(f"`binning` must be one of {', '.join(get_args(Binning))}.")
    if n_bins < 1:
        raise ValueError(f"`n_bins` must be at least 1, got {n_bins}.")
    values, right, n_missing = usable_answers(certainty, correct)
    if values.size == 0:
        return Calibration(None, None, (), 0, n_missing, reason="empty_group")

    order = np.argsort(values, kind="stable")
    values, right = values[order], right[order]
    confidence = to_confidence(values, scale)
    bins = []
    for rows in _bin_rows(values, binning, n_bins):
        n, hits = int(rows.size), int(right[rows].sum())
        bins.append(
            CalibrationBin(
                low=float(values[rows[0]]),
                high=float(values[rows[-1]]),
                n=n,
                correct=hits,
                confidence=float(confidence[rows].mean()),
                accuracy=hits / n,
            )
        )
    gaps = [abs(b.accuracy - b.confidence) for b in bins]
    ece = sum(b.n / values.size * gap for b, gap in zip(bins, gaps, strict=True))
    return Calibration(ece, max(gaps), tuple(bins), int(values.size), n_missing)


def brier_score(
    certainty: npt.ArrayLike, correct: npt.ArrayLike, *, scale: CertaintyReading = "plain"
) -> Brier:
    r"""Brier score with Murphy's decomposition over distinct confidences.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    scale : {"plain", "half"}, default "plain"
        As in :func:`calibration_error`.

    Returns
    -------
    Brier

    Raises
    ------
    ValueError
        If the arrays do not fit or a value is out of range.

    Notes
    -----
    :math:`\frac1n\sum(f_i-y_i)^2=\sum_v\frac{n_v}{n}(v-\bar y_v)^2-
    \sum_v\frac{n_v}{n}(\bar y_v-\bar y)^2+\bar y(1-\bar y)` over the distinct forecasts
    :math:`v`. It is exact, which it is not if forecasts are binned.

    References
    ----------
    .. [1] Brier, Monthly Weather Review 78 (1950), 1-3.
    .. [2] Murphy, Journal of Applied Meteorology 12 (1973), 595-600.

    Examples
    --------
    >>> parts = brier_score([90, 90, 60, 60], [1, 1, 1, 0])
    >>> round(parts.value, 4), round(parts.reliability, 4), round(parts.resolution, 4)
    (0.135, 0.01, 0.0625)
    """
    values, right, n_missing = usable_answers(certainty, correct)
    if values.size == 0:
        return Brier(None, None, None, None, 0, n_missing, reason="empty_group")
    confidence = to_confidence(values, scale)
    distinct, group = np.unique(values, return_inverse=True)
    forecasts = to_confidence(distinct, scale)
    weight = np.bincount(group) / values.size
    accuracy = np.bincount(group, weights=right) / np.bincount(group)
    base_rate = float(right.mean())
    return Brier(
        value=float(np.mean((confidence - right) ** 2)),
        reliability=float(weight @ (forecasts - accuracy) ** 2),
        resolution=float(weight @ (accuracy - base_rate) ** 2),
        uncertainty=base_rate * (1 - base_rate),
        n=int(values.size),
        n_missing=n_missing,
    )


def discrimination(
    certainty: npt.ArrayLike, correct: npt.ArrayLike, *, min_each: int = MIN_EACH
) -> Discrimination:
    r"""Area under the ROC curve and average precision of certainty as a predictor of right answers.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing. Only the order matters.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    min_each : int, default 10
        Smallest number of right and of wrong answers.

    Returns
    -------
    Discrimination

    Raises
    ------
    ValueError
        If the arrays do not fit or a value is out of range.

    Notes
    -----
    :math:`AUROC=\frac{1}{n_+n_-}\sum_{i:y=1}\sum_{j:y=0}([c_i>c_j]+\tfrac12[c_i=c_j])`, by
    mid-ranks. Average precision is :math:`\sum_t(R_t-R_{t-1})P_t` over distinct thresholds, so
    ties have no order.

    References
    ----------
    .. [1] Hanley and McNeil, Radiology 143 (1982), 29-36.

    Examples
    --------
    >>> result = discrimination([90, 80, 80, 70], [1, 1, 0, 0], min_each=1)
    >>> result.auroc
    0.875
    """
    values, right, n_missing = usable_answers(certainty, correct)
    n_right = int(right.sum())
    n_wrong = int(values.size) - n_right
    base_rate = n_right / values.size if values.size else None
    reason: Reason | None = None
    if values.size == 0:
        reason = "empty_group"
    elif n_right == 0 or n_wrong == 0:
        reason = "no_variation"
    elif min(n_right, n_wrong) < min_each:
        reason = "too_few_items"
    if reason:
        return Discrimination(None, None, None, base_rate, n_right, n_wrong, n_missing, reason)

    ranks = mid_ranks(values)
    pairs_won = float(ranks[right == 1].sum()) - n_right * (n_right + 1) / 2
    return Discrimination(
        auroc=pairs_won / (n_right * n_wrong),
        auprc_correct=_average_precision(values, right),
        auprc_error=_average_precision(-values, 1 - right),
        base_rate=base_rate,
        n_right=n_right,
        n_wrong=n_wrong,
        n_missing=n_missing,
    )


def usable_answers(
    certainty: npt.ArrayLike, correct: npt.ArrayLike
) -> tuple[FloatArray, IntArray, int]:
    """Certainty and correctness of rows with both, and the number of rows left out."""
    values, right = np.asarray(certainty, dtype=np.float64), np.asarray(correct, dtype=np.int64)
    if values.ndim != 1 or values.shape != right.shape:
        raise ValueError(
            "`certainty` and `correct` must be one-dimensional and equally long, "
            f"got shapes {values.shape} and {right.shape}."
        )
    right, is_scored = known_rows(right)
    is_stated = ~np.isnan(values)
    stated = values[is_stated]
    if stated.size and not (stated.min() >= 0 and stated.max() <= 100):
        raise ValueError("`certainty` must lie between 0 and 100.")
    known = is_stated & is_scored
    return values[known], right[known], int(np.sum(~known))


def to_confidence(certainty: FloatArray, scale: CertaintyReading = "plain") -> FloatArray:
    """Convert certainty 0 to 100 into a probability according to `scale`."""
    if scale not in get_args(CertaintyReading):
        raise ValueError(f"`scale` must be one of {', '.join(get_args(CertaintyReading))}.")
    share = certainty / 100
    return share if scale == "plain" else 0.5 + 0.5 * share


def _bin_rows(ascending: FloatArray, binning: Binning, n_bins: int) -> list[IntArray]:
    """Rows of each non-empty bin, in ascending order of certainty."""
    if binning == "mass":
        parts = np.array_split(np.arange(ascending.size), n_bins)
        return [part for part in parts if part.size]
    if binning == "distinct":
        labels = ascending
    else:
        # Multiplied before divided: 0.3 * 10 is not 3 in binary, 30 * 10 / 100 is.
        labels = np.maximum(1.0, np.ceil(ascending * n_bins / 100))
    edges = np.flatnonzero(np.diff(labels)) + 1
    return list(np.split(np.arange(ascending.size), edges))


def _average_precision(score: FloatArray, positive: IntArray) -> float:
    """Average precision with tied scores entering together."""
    order = np.argsort(-score, kind="stable")
    score, positive = score[order], positive[order]
    ends = np.append(np.flatnonzero(np.diff(score)), score.size - 1)
    hits = np.cumsum(positive)[ends]
    precision = hits / (ends + 1)
    gained = np.diff(hits, prepend=0) / positive.sum()
    return float(gained @ precision)
