"""How often people repeat their own answers, and accuracy as a share of that ceiling."""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import numpy.typing as npt

from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.clusters import MIN_BLOCKS
from analysis.stats.core.results import (
    Estimate,
    FloatArray,
    Interval,
    Proportion,
    check_level,
    t_quantile,
)
from analysis.stats.core.shared_variance import Sharing


@dataclass(frozen=True)
class Retest:
    """Answers of people who were asked twice.

    Attributes
    ----------
    agreement : Proportion
        Share of answers that were the same both times.
    ceiling : Estimate
        The best accuracy about the first answers; undefined (``"at_chance"``) if at most half of
        the answers were repeated.
    """

    agreement: Proportion
    ceiling: Estimate


def retest_of(same: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95) -> Retest:
    """Agreement of people with themselves, and the resulting ceiling.

    Parameters
    ----------
    same : array_like of bool, shape (n,)
        Whether an answer between two options was repeated.
    sharing : Sharing
        Its rows are the answers; they share people and questions.
    level : float, default 0.95

    Returns
    -------
    Retest
        The interval of the ceiling is that of the agreement under the same monotone transformation;
        an end at or below one half becomes 1/2, the accuracy of chance.

    Examples
    --------
    >>> sharing = Sharing.of_items(200, {"person": np.arange(200) // 10})
    >>> found = retest_of([True] * 164 + [False] * 36, sharing)
    >>> round(found.agreement.value, 2), round(found.ceiling.value, 3)
    (0.82, 0.9)
    """
    agreement = general_proportion(same, sharing, level=level)
    if agreement.value is None:
        return Retest(agreement, Estimate(None, agreement.reason))
    value = _ceiling(agreement.value)
    if value is None:
        return Retest(agreement, Estimate(None, "at_chance"))
    interval = agreement.interval
    if interval is not None:
        low, high = (_ceiling(end) or 0.5 for end in (interval.low, interval.high))
        interval = replace(interval, low=low, high=high)
    return Retest(agreement, Estimate(value, None, interval, agreement.interval_reason))


def share_of_retest(
    right: npt.ArrayLike,
    person: npt.ArrayLike,
    sharing: Sharing,
    same: npt.ArrayLike,
    same_person: npt.ArrayLike,
    same_sharing: Sharing,
    *,
    level: float = 0.95,
) -> Estimate:
    r"""An accuracy about people's own answers as a share of their retest ceiling.

    Parameters
    ----------
    right : array_like of bool, shape (n,)
        Whether each prediction of an own answer is right.
    person : array_like of int, shape (n,)
        Whose answer it was.
    sharing : Sharing
        What predictions share: people, questions, annotators.
    same, same_person, same_sharing
        Whether each answer was repeated, whose it was, and what these rows share, with the codes of
        people in `person`.
    level : float, default 0.95

    Returns
    -------
    Estimate
        0 for chance, 1 for the ceiling, possibly more by chance. Undefined (``"at_chance"``) if at
        most half of the answers were repeated; without an interval if that cannot be excluded, or
        with fewer than 8 people who were asked twice (``"too_few_clusters"``).

    Notes
    -----
    With the accuracy A and the retest agreement r, the share is
    :math:`S=\frac{A-1/2}{(1+\sqrt{2r-1})/2-1/2}=\frac{2A-1}{\sqrt{2r-1}}`: Spearman's correction
    for attenuation [1]_ of :math:`2A-1`. If first and second answers slip independently with
    probability s, equally likely either way, :math:`2A-1=(2a-1)(1-2s)` for the accuracy a about
    what people mean, and :math:`\sqrt{2r-1}=1-2s`, so :math:`S=2a-1`.

    The interval is :math:`S\pm t_{G-1}\sqrt V` by the delta method, with the G people who were
    asked twice as clusters: a person who slips often lowers both A and r. What predictions of
    different people share (questions, annotators) adds the excess of the variance of A, or of r,
    that `Sharing.spread` finds over that of people alone.

    References
    ----------
    .. [1] C. Spearman, "The Proof and Measurement of Association between Two Things",
       The American Journal of Psychology 15(1), 1904, 72-101.

    Examples
    --------
    >>> who = np.arange(200) // 10
    >>> rows = Sharing.of_items(200, {"person": who})
    >>> right, same = np.arange(200) % 10 < 7, np.arange(200) % 100 < 82
    >>> round(share_of_retest(right, who, rows, same, who, rows).value, 3)
    0.5
    """
    check_level(level)
    correct = np.asarray(right).astype(np.float64)
    repeated = np.asarray(same).astype(np.float64)
    if not correct.size or not repeated.size:
        return Estimate(None, "empty_group")
    accuracy, r = float(correct.mean()), float(repeated.mean())
    if r <= 0.5:
        return Estimate(None, "at_chance")
    share = (2 * accuracy - 1) / (2 * r - 1) ** 0.5
    agreement = general_proportion(same, same_sharing, level=level)
    if agreement.interval is None:
        return Estimate(share, interval_reason=agreement.interval_reason)
    if agreement.interval.low <= 0.5:
        return Estimate(share, interval_reason="at_chance")
    codes = np.asarray(person), np.asarray(same_person)
    people = np.unique(codes[1]).size
    if people < MIN_BLOCKS:
        return Estimate(share, interval_reason="too_few_clusters")
    slopes = 2 / (2 * r - 1) ** 0.5, -(2 * accuracy - 1) / (2 * r - 1) ** 1.5
    names = np.unique(np.concatenate(codes))
    parts = [
        _by_person(values, np.searchsorted(names, code), names.size)
        for values, code in zip((correct, repeated), codes, strict=True)
    ]
    variance = _variance(slopes[0] * parts[0] + slopes[1] * parts[1])
    for slope, part, values, rows in zip(
        slopes, parts, (correct, repeated), (sharing, same_sharing), strict=True
    ):
        variance += slope**2 * max(0.0, float(rows.spread(values).variance[0]) - _variance(part))
    half = t_quantile(people - 1, (1 + level) / 2) * variance**0.5
    method = f"delta t({people - 1}) over people"
    interval = Interval(share - half, share + half, level, method, correct.size)
    return Estimate(share, None, interval)


def _by_person(values: FloatArray, code: npt.NDArray[np.intp], n: int) -> FloatArray:
    """Each person's contribution to the mean of the values, minus the mean."""
    return np.bincount(code, weights=values - values.mean(), minlength=n) / values.size


def _variance(parts: FloatArray) -> float:
    """The variance of a sum over people."""
    used = int((parts != 0).sum())
    return float((parts**2).sum()) * (used / (used - 1) if used > 1 else 1.0)


def _ceiling(repeated: float) -> float | None:
    """Best accuracy about one of two answers with this agreement, if both slip equally."""
    return (1 + sqrt(2 * repeated - 1)) / 2 if repeated > 0.5 else None
