"""Position bias of a judge."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.paired import PairedCounts, mcnemar
from analysis.stats.core.results import IntArray, Reason


@dataclass(frozen=True)
class PositionBias:
    """Choices of a judge on items shown in both orders.

    Attributes
    ----------
    n : int
        Items with a choice in both orders.
    n_missing : int
        Items left out because an order has no choice or a tie.
    consistent, primacy, recency : int
        Items with the same response chosen in both orders, the response shown first in both,
        the response shown second in both; they add up to `n`.
    consistency : float or None
        ``consistent / n``.
    index : float or None
        ``(primacy - recency) / n``: positive if the first position helps.
    z : float or None
        ``(primacy - recency) / sqrt(primacy + recency)``, for display.
    p : float or None
        Exact two-sided binomial p value of "neither position helps".
    reason : str or None
        ``"empty_group"`` if `n` is 0.
    p_reason : str or None
        ``"no_discordant"`` if `z` and `p` are None because no choice followed the position.
    """

    n: int
    n_missing: int
    consistent: int
    primacy: int
    recency: int
    consistency: float | None
    index: float | None
    z: float | None
    p: float | None
    reason: Reason | None = None
    p_reason: Reason | None = None


@dataclass(frozen=True)
class SingleOrderBias:
    """Answers and truth by position, for items shown in one order.

    Attributes
    ----------
    n : int
        Items whose answer is one of the two positions.
    n_truth : int
        Those of them whose truth is also one of the two positions.
    share_first : float or None
        Share of `n` on which the first position was chosen.
    truth_share_first : float or None
        Share of `n_truth` on which the first position is right.
    first_when_second, second_when_first : int
        Wrong answers in either direction.
    correct_when_first, n_when_first, correct_when_second, n_when_second : int
        Right answers and items by the position of the right response.
    p : float or None
        Exact McNemar p value of "both positions get equally many errors" (marginal homogeneity).
    reason : str or None
        ``"empty_group"`` if `n` is 0, so that the shares are None.
    p_reason : str or None
        ``"no_discordant"`` if `p` is None because nothing is wrong.
    """

    n: int
    n_truth: int
    share_first: float | None
    truth_share_first: float | None
    first_when_second: int
    second_when_first: int
    correct_when_first: int
    n_when_first: int
    correct_when_second: int
    n_when_second: int
    p: float | None
    reason: Reason | None = None
    p_reason: Reason | None = None


def position_bias(first_in_order_1: npt.ArrayLike, first_in_order_2: npt.ArrayLike) -> PositionBias:
    r"""Measure position bias on items shown in both orders.

    Parameters
    ----------
    first_in_order_1, first_in_order_2 : array_like of int, shape (n_items,)
        Whether the response shown *first* was chosen in that order: 1 yes, 0 no (the second),
        -1 missing or a tie. The orders are each other's reverse.

    Returns
    -------
    PositionBias

    Raises
    ------
    ValueError
        If the shapes differ or a value is not -1, 0 or 1.

    Notes
    -----
    Same content means first in one order and second in the other. :math:`z=(p-r)/\sqrt{p+r}`
    with primacy :math:`p` and recency :math:`r`; the p value is the exact binomial one.

    References
    ----------
    .. [1] Zheng et al., "Judging LLM-as-a-judge with MT-Bench and Chatbot Arena", 2023.

    Examples
    --------
    >>> result = position_bias([1, 1, 0, 1, 0], [0, 1, 1, 1, 0])
    >>> result.consistency, result.primacy, result.recency, round(result.index, 2)
    (0.4, 2, 1, 0.2)
    """
    one, two = chosen_slots(first_in_order_1), chosen_slots(first_in_order_2)
    if one.shape != two.shape:
        raise ValueError(f"The two orders differ in length: {one.size} and {two.size}.")
    both = (one >= 0) & (two >= 0)
    n, n_missing = int(both.sum()), int(np.sum(~both))
    if n == 0:
        return PositionBias(0, n_missing, 0, 0, 0, None, None, None, None, reason="empty_group")
    primacy = int(np.sum(both & (one == 1) & (two == 1)))
    recency = int(np.sum(both & (one == 0) & (two == 0)))
    test = mcnemar(PairedCounts(b=primacy, c=recency, n=n))
    consistent = n - primacy - recency
    return PositionBias(
        n=n,
        n_missing=n_missing,
        consistent=consistent,
        primacy=primacy,
        recency=recency,
        consistency=consistent / n,
        index=(primacy - recency) / n,
        z=(primacy - recency) / (primacy + recency) ** 0.5 if test.p is not None else None,
        p=test.p,
        p_reason=test.reason,
    )


def position_bias_single_order(answer: npt.ArrayLike, truth: npt.ArrayLike) -> SingleOrderBias:
    """Measure position bias on items shown in one order only.

    With one order, a preference for a position and one for the response shown there cannot be told
    apart item by item. Errors that mostly favour one position still show it.

    Parameters
    ----------
    answer : array_like of int, shape (n_items,)
        Position that was chosen: 0 first, 1 second; -1 a tie, missing or unparseable.
    truth : array_like of int, shape (n_items,)
        Position of the right response: 0 first, 1 second; -1 a tie or unknown.

    Returns
    -------
    SingleOrderBias

    Raises
    ------
    ValueError
        If the shapes differ or a value is not -1, 0 or 1.

    Examples
    --------
    >>> result = position_bias_single_order([0, 0, 0, 1], [0, 1, 1, -1])
    >>> result.share_first, result.first_when_second, result.p
    (0.75, 2, 0.5)
    """
    answers, truths = chosen_slots(answer), chosen_slots(truth)
    if answers.shape != truths.shape:
        raise ValueError(f"`answer` and `truth` differ in length: {answers.size}, {truths.size}.")
    answered = answers >= 0
    known = answered & (truths >= 0)
    first, second = known & (truths == 0), known & (truths == 1)
    n, n_truth = int(answered.sum()), int(known.sum())
    correct_when_first = int(np.sum(first & (answers == 0)))
    correct_when_second = int(np.sum(second & (answers == 1)))
    n_when_first, n_when_second = int(first.sum()), int(second.sum())
    first_when_second = n_when_second - correct_when_second
    second_when_first = n_when_first - correct_when_first
    test = mcnemar(PairedCounts(b=first_when_second, c=second_when_first, n=n_truth))
    return SingleOrderBias(
        n=n,
        n_truth=n_truth,
        share_first=int(np.sum(answers == 0)) / n if n else None,
        truth_share_first=n_when_first / n_truth if n_truth else None,
        first_when_second=first_when_second,
        second_when_first=second_when_first,
        correct_when_first=correct_when_first,
        n_when_first=n_when_first,
        correct_when_second=correct_when_second,
        n_when_second=n_when_second,
        p=test.p,
        reason=None if n else "empty_group",
        p_reason=test.reason,
    )


def chosen_slots(values: npt.ArrayLike) -> IntArray:
    slots = np.asarray(values, dtype=np.int64)
    if slots.ndim != 1 or not np.isin(slots, (-1, 0, 1)).all():
        raise ValueError("Choices must be one-dimensional and hold only 1, 0 and -1 (missing).")
    return slots
