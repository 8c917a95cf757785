"""The best possible agreement with one more person, and agreement as a share of it."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import (
    FEW_OTHERS,
    GeneralDifference,
    general_difference,
    interval_of,
)
from analysis.stats.core.results import Estimate, FloatArray, IntArray, Interval, Reason, t_quantile
from analysis.stats.core.shared_variance import Sharing


@dataclass(frozen=True)
class AgreementCeiling:
    """Agreement among people, and bounds of what any judge can reach.

    Attributes
    ----------
    n_items : int
        Items with two or more answers.
    pair : Estimate
        Agreement of one annotator with another.
    low : Estimate
        Agreement of the majority of an item's other annotators with one annotator. A judge that
        knew people in general would reach at least this.
    high : Estimate
        No judge can agree more with one more person; at least `low`.
    """

    n_items: int
    pair: Estimate
    low: Estimate
    high: Estimate


@dataclass(frozen=True)
class ShareOfPossible:
    """Agreement with one more person as a share of the best possible: 0 chance, 1 the ceiling.

    Attributes
    ----------
    agreement : Estimate
        With one more person.
    low, high : float or None
        Range of the share for a ceiling between its bounds.
    interval : Interval or None
        Interval of the share for any ceiling between its bounds.
    reason : str or None
        Why there is no share: ``"at_chance"`` if the ceiling may be no higher than chance.
    interval_reason : str or None
        Why there is no interval although there is a share.
    """

    agreement: Estimate
    low: float | None = None
    high: float | None = None
    interval: Interval | None = None
    reason: Reason | None = None
    interval_reason: Reason | None = None


def agreement_ceiling(
    counts: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95
) -> AgreementCeiling:
    r"""Bounds of the agreement that a judge can have with one more person.

    Parameters
    ----------
    counts : array_like of int, shape (n_items, n_options)
        Answers of people.
    sharing : Sharing
        What the items share, including the people who answered.
    level : float, default 0.95

    Returns
    -------
    AgreementCeiling
        Undefined (``"no_pairs"``) without an item that has two answers.

    Notes
    -----
    If :math:`p_o` is the share of all people who would choose o for an item, a judge's agreement
    with one more person is at most :math:`E\max_op_o`. A few answers per item do not identify it.
    It is at least the agreement of any rule, such as the majority of the others with ties split
    evenly. With C options and pairs that agree at the rate :math:`a=E\sum_op_o^2` it is at most
    :math:`(1+\sqrt{(C-1)(Ca-1)})/C`, which is reached if all items are equally hard.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = agreement_ceiling([[2, 1], [0, 3]] * 20, sharing)
    >>> round(found.pair.value, 3), round(found.low.value, 3), round(found.high.value, 3)
    (0.667, 0.667, 0.789)
    """
    votes = _checked(counts)
    pair = _mean(pair_agreement(votes), sharing, level)
    return AgreementCeiling(
        n_items=int((votes.sum(axis=1) >= 2).sum()),
        pair=pair,
        low=_mean(majority_of_others(votes), sharing, level),
        high=_highest(pair, votes.shape[1]),
    )


def share_of_possible(
    agreed: npt.ArrayLike, counts: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95
) -> ShareOfPossible:
    r"""Agreement with one more person, and its share of what is possible on the same items.

    Parameters
    ----------
    agreed : array_like of float, shape (n_items,)
        The share of an item's people who agree with the judge; NaN where it has no answer.
    counts : array_like of int, shape (n_items, n_options)
        Answers of people; items with fewer than two are left out.
    sharing : Sharing
        What the items share, including the people who answered.
    level : float, default 0.95

    Returns
    -------
    ShareOfPossible

    Notes
    -----
    :math:`(A-1/C)/(M-1/C)` for an agreement A, C options and a ceiling M at either bound of
    `agreement_ceiling`. A itself is a lower bound of the ceiling, so the share is at most 1
    unless it exceeds the higher bound by chance. The interval holds for both bounds, each by the
    delta method with the variance of `Sharing.spread`. There is no share if the interval of a
    bound contains 1/C.

    Examples
    --------
    >>> sharing = Sharing.of_items(60, {"persona": np.arange(60) // 4})
    >>> found = share_of_possible(
    ...     [2 / 3, 1, 1 / 3, 1] * 15, [[2, 1], [0, 3], [1, 2], [3, 0]] * 15, sharing
    ... )
    >>> round(found.agreement.value, 3), round(found.low, 3), round(found.high, 3)
    (0.75, 0.866, 1.0)
    """
    votes = _checked(counts)
    own = np.asarray(agreed, dtype=np.float64)
    rows = np.flatnonzero((votes.sum(axis=1) >= 2) & ~np.isnan(own))
    votes, own, within = votes[rows], own[rows], sharing.take(rows)
    agreement = _mean(own, within, level)
    if agreement.value is None:
        return ShareOfPossible(agreement, reason=agreement.reason)
    ceiling = agreement_ceiling(votes, within, level=level)
    chance = 1 / votes.shape[1]
    for end in (ceiling.low, ceiling.high):
        if end.interval is None:
            return ShareOfPossible(agreement, reason=end.interval_reason)
        if end.interval.low <= chance + 1e-9:
            return ShareOfPossible(agreement, reason="at_chance")
    bounds = (
        (_value(ceiling.low), majority_of_others(votes), 1.0),
        (
            _value(ceiling.high),
            pair_agreement(votes),
            _slope(_value(ceiling.pair), votes.shape[1]),
        ),
    )
    gain = agreement.value - chance
    shares: list[float] = []
    ends: list[float] = []
    few = False
    for bound, values, slope in bounds:
        share = gain / (bound - chance)
        moved = (own - share * slope * values) / (bound - chance)
        few |= _differing(moved) < FEW_OTHERS
        spread = within.spread(moved)
        half = t_quantile(float(spread.degrees_of_freedom[0]), (1 + level) / 2) * math.sqrt(
            float(spread.variance[0])
        )
        shares.append(share)
        ends += [share - half, share + half]
    # Agreement itself is a lower bound of the ceiling.
    by_low, by_high = shares
    by_low = max(by_high, min(by_low, 1.0))
    low, high = sorted((by_low, by_high))
    if few:
        return ShareOfPossible(agreement, low, high, interval_reason="too_few_items")
    top = max(ends[3], min(ends[1], 1.0))
    interval = interval_of(min(ends[0], ends[2], low), max(top, high), level, "delta t", within)
    return ShareOfPossible(agreement, low, high, interval)


def retest_ceiling(retest: float) -> float | None:
    r"""Best possible accuracy for answers that people do not always repeat.

    Parameters
    ----------
    retest : float
        Share of their answers between two options that people repeat when asked again.

    Returns
    -------
    float or None
        None if people repeat half of their answers or fewer.

    Notes
    -----
    If answers slip with probability s, symmetrically and independently, two answers agree at the
    rate :math:`r=s^2+(1-s)^2`, and the best accuracy for one of them is
    :math:`1-s=(1+\sqrt{2r-1})/2`.

    Examples
    --------
    >>> round(retest_ceiling(0.82), 3), retest_ceiling(0.5)
    (0.9, None)
    """
    if not 0 <= retest <= 1:
        raise ValueError(f"`retest` must lie in [0, 1], got {retest}.")
    return (1 + math.sqrt(2 * retest - 1)) / 2 if retest > 0.5 else None


def share_of_ceiling(accuracy: Estimate, retest: float) -> Estimate:
    """An accuracy between two options as a share of the best possible one.

    Parameters
    ----------
    accuracy : Estimate
    retest : float
        As for `retest_ceiling`, known exactly.

    Returns
    -------
    Estimate
        0 for chance, 1 for the ceiling. Undefined (``"at_chance"``) without a ceiling.

    Examples
    --------
    >>> round(share_of_ceiling(Estimate(0.7), 0.82).value, 3)
    0.5
    """
    ceiling = retest_ceiling(retest)
    if accuracy.value is None:
        return accuracy
    if ceiling is None:
        return Estimate(None, "at_chance")
    interval = accuracy.interval
    if interval is not None:
        low, high = ((end - 0.5) / (ceiling - 0.5) for end in (interval.low, interval.high))
        interval = replace(interval, low=low, high=high)
    share = (accuracy.value - 0.5) / (ceiling - 0.5)
    return Estimate(share, None, interval, accuracy.interval_reason)


def agreed_with(answer: npt.ArrayLike, counts: npt.ArrayLike) -> FloatArray:
    """Share of an item's people who agree with a judge.

    Parameters
    ----------
    answer : array_like of int, shape (n_items,)
        The judge's option; -1 without one.
    counts : array_like of int, shape (n_items, n_options)
        Answers of people.

    Returns
    -------
    ndarray of float, shape (n_items,)
        NaN without an answer of the judge or of people.

    Examples
    --------
    >>> agreed_with([0, 1, -1], [[2, 1], [0, 3], [1, 1]]).tolist()
    [0.6666666666666666, 1.0, nan]
    """
    chosen, votes = np.asarray(answer, dtype=np.int64), np.asarray(counts, dtype=np.int64)
    n = votes.sum(axis=1)
    has_answer = (chosen >= 0) & (n > 0)
    same = votes[np.arange(n.size), np.where(has_answer, chosen, 0)]
    return np.where(has_answer, same / np.maximum(n, 1), np.nan)


def pair_agreement(counts: IntArray) -> FloatArray:
    """Share of an item's pairs of people who agree, shape (n_items,); NaN below two."""
    n = counts.sum(axis=1)
    pairs = np.maximum(n * (n - 1), 1)
    return np.where(n >= 2, (counts * (counts - 1)).sum(axis=1) / pairs, np.nan)


def majority_of_others(counts: IntArray) -> FloatArray:
    """Share of an item's people with whom the majority of the others agrees; ties are split."""
    n = counts.sum(axis=1)
    total = np.zeros(n.size)
    for option in range(counts.shape[1]):
        others = counts.copy()
        others[:, option] -= 1
        leads = others == others.max(axis=1, initial=0)[:, None]
        total += counts[:, option] * leads[:, option] / leads.sum(axis=1)
    return np.where(n >= 2, total / np.maximum(n, 1), np.nan)


def _checked(counts: npt.ArrayLike) -> IntArray:
    votes = np.asarray(counts, dtype=np.int64)
    if votes.ndim != 2 or votes.shape[1] < 2:
        raise ValueError(f"`counts` must have shape (n_items, n_options), got {votes.shape}.")
    return votes


def _mean(values: FloatArray, sharing: Sharing, level: float) -> Estimate:
    """The mean of shares, with an interval within [0, 1]."""
    difference: GeneralDifference = general_difference(values, sharing, level=level)
    if difference.value is None:
        return Estimate(None, "no_pairs")
    ends = difference.interval
    if ends is not None:
        ends = replace(ends, low=max(ends.low, 0.0), high=min(ends.high, 1.0))
    return Estimate(difference.value, interval=ends, interval_reason=difference.interval_reason)


def _highest(pair: Estimate, n_options: int) -> Estimate:
    """The upper bound of the ceiling, an increasing function of pair agreement."""
    if pair.value is None:
        return pair
    value = _bound(pair.value, n_options)
    if pair.interval is None:
        return Estimate(value, interval_reason=pair.interval_reason)
    low, high = (_bound(end, n_options) for end in (pair.interval.low, pair.interval.high))
    if high - low < 1e-9:  # pairs agree less often than by chance
        return Estimate(value, interval_reason="at_chance")
    return Estimate(value, interval=replace(pair.interval, low=low, high=high))


def _bound(pair: float, n_options: int) -> float:
    above = max(n_options * pair - 1, 0.0)
    return (1 + math.sqrt((n_options - 1) * above)) / n_options


def _slope(pair: float, n_options: int) -> float:
    """The derivative of `_bound`."""
    return math.sqrt((n_options - 1) / (n_options * pair - 1)) / 2


def _differing(values: FloatArray) -> int:
    """Items that differ from the most frequent value."""
    _, n = np.unique(np.round(values, 9), return_counts=True)
    return int(values.size - n.max())


def _value(estimate: Estimate) -> float:
    assert estimate.value is not None  # noqa: S101 - the caller has looked
    return estimate.value
