"""Biases of a judge for a position, and for longer responses beyond their being right."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from ..comparison.paired import PairedCounts, count_pairs, mcnemar, tango_interval
from ..core.multiway import ClusterLabels, degrees_of_freedom, score_variance
from ..core.results import (
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Reason,
    check_level,
    t_quantile,
)


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
        Items whose truth is also one of the two positions.
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

    With one order, a preference for a position cannot be separated from one for the response shown
    there, item by item. But errors that mostly favour one position reveal it.

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


MAX_STEPS = 50
# Log odds that data of ordinary size cannot distinguish from infinity.
SEPARATED = 15.0


@dataclass(frozen=True)
class VerbosityBias:
    """Preference of a judge for longer responses beyond their being right.

    Attributes
    ----------
    longer_chosen, longer_true : float or None
        Shares of `n` on which the longer response was chosen, and is right.
    difference : Estimate
        The first minus the second, with Tango's interval.
    n, n_equal, n_missing : int
        Items with choice and truth whose responses differ in length; items left out because
        the lengths are equal, and because choice or truth is missing.
    """

    longer_chosen: float | None
    longer_true: float | None
    difference: Estimate
    n: int
    n_equal: int
    n_missing: int


@dataclass(frozen=True)
class LengthPull:
    """Effect of a response's length on the odds that it is chosen.

    Attributes
    ----------
    per_doubling : Estimate
        Log odds of choosing a response, for each doubling of its length relative to the other,
        between items with the same right response. Above 0, longer responses are preferred.
    n, n_missing : int
        Items used; items without a choice, a truth or a length.
    """

    per_doubling: Estimate
    n: int
    n_missing: int


def verbosity_bias(
    first_length: npt.ArrayLike,
    second_length: npt.ArrayLike,
    answer: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    level: float = 0.95,
) -> VerbosityBias:
    """Difference between how often a judge chooses the longer response and how often it is right.

    Parameters
    ----------
    first_length, second_length : array_like of int, shape (n_items,)
        Lengths of both responses, in any unit, for example characters.
    answer, truth : array_like of int, shape (n_items,)
        Response chosen and right response: 0 the first, 1 the second, -1 missing or a tie.
    level : float, default 0.95
        Nominal coverage of the interval.

    Returns
    -------
    VerbosityBias
        Undefined (``"empty_group"``) if no item with responses of different length has both.

    Raises
    ------
    ValueError
        If the lengths of the arrays differ or a choice is not -1, 0 or 1.

    Notes
    -----
    If people prefer longer responses too, a judge that chooses them is right; only the
    excess is a bias. Tango's interval of the paired difference treats items as independent.

    Examples
    --------
    >>> result = verbosity_bias([9, 5, 8, 3, 4], [3, 7, 2, 9, 4], [0, 1, 0, 1, 0], [0, 0, 1, 1, 1])
    >>> result.longer_chosen, result.longer_true, result.difference.value, result.n_equal
    (1.0, 0.5, 0.5, 1)
    """
    one, two, chosen, right = _aligned(first_length, second_length, answer, truth)
    known = (chosen >= 0) & (right >= 0)
    used = known & (one != two)
    longer = (two > one).astype(np.int64)
    n, n_equal, n_missing = int(used.sum()), int((known & ~used).sum()), int((~known).sum())
    if n == 0:
        return VerbosityBias(None, None, Estimate(None, "empty_group"), 0, n_equal, n_missing)
    chose, true = (chosen == longer)[used], (right == longer)[used]
    pairs = count_pairs(chose, true)
    return VerbosityBias(
        longer_chosen=float(chose.mean()),
        longer_true=float(true.mean()),
        difference=Estimate(pairs.difference, interval=tango_interval(pairs, level)),
        n=n,
        n_equal=n_equal,
        n_missing=n_missing,
    )


def length_pull(
    first_length: npt.ArrayLike,
    second_length: npt.ArrayLike,
    answer: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    clusters: ClusterLabels | None = None,
    level: float = 0.95,
) -> LengthPull:
    r"""Logistic regression of the choice on the ratio of lengths and the right response.

    `verbosity_bias` measures how often the longer response wins; this measures the effect of
    the ratio of lengths, and allows for longer responses being right more often.

    Parameters
    ----------
    first_length, second_length, answer, truth
        As for `verbosity_bias`; a response of length 0 has no ratio and its item is left out.
    clusters : mapping of str to array_like of int, each of shape (n_items,), optional
        What items share, as for `multiway_variance`; by default nothing.
    level : float, default 0.95

    Returns
    -------
    LengthPull
        Undefined: ``"empty_group"`` without items, ``"no_variation"`` if all are chosen or
        longer on one side, ``"not_identified"`` if length or truth predicts every choice.

    Raises
    ------
    ValueError
        If the lengths of the arrays differ or a choice is not -1, 0 or 1.

    Notes
    -----
    :math:`\operatorname{logit}P(r_2)=\beta_0+\beta_1\log_2(\ell_2/\ell_1)+\beta_2t`
    with t = 1 where :math:`r_2` is right and -1 where :math:`r_1` is, by Newton's method; the
    variance is the cluster-robust one, with a t quantile.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> one, two = rng.integers(20, 200, (2, 2000))
    >>> right = rng.integers(0, 2, 2000)
    >>> odds = 0.8 * np.log2(two / one) + np.where(right == 1, 1, -1)
    >>> chosen = (rng.random(2000) < 1 / (1 + np.exp(-odds))).astype(int)
    >>> pull = length_pull(one, two, chosen, right).per_doubling
    >>> round(pull.value, 1), pull.interval.low > 0.6
    (0.8, True)
    """
    check_level(level)
    one, two, chosen, right = _aligned(first_length, second_length, answer, truth)
    used = (chosen >= 0) & (right >= 0) & (one > 0) & (two > 0)
    n, n_missing = int(used.sum()), int((~used).sum())

    def undefined(reason: Reason) -> LengthPull:
        return LengthPull(Estimate(None, reason), n, n_missing)

    if n == 0:
        return undefined("empty_group")
    y = chosen[used].astype(np.float64)
    ratio = np.log2(two[used] / one[used])
    design = np.stack([np.ones(n), ratio, 2.0 * right[used] - 1], axis=1)
    if np.ptp(right[used]) == 0:
        design = design[:, :2]  # with one right side, it is collinear with the constant
    if np.ptp(y) == 0 or np.linalg.matrix_rank(design) < design.shape[1]:
        return undefined("no_variation")
    fitted = _fit(design, y)
    if fitted is None:
        return undefined("not_identified")
    coefficients, bread = fitted
    influence = ((y - expit(design @ coefficients))[:, None] * design) @ bread[:, 1]
    within: ClusterLabels = clusters or {"item": np.arange(used.size)}
    variance = score_variance(influence, {k: np.asarray(v)[used] for k, v in within.items()})
    value = float(coefficients[1])
    if variance is None or variance.variance <= 0:
        return LengthPull(Estimate(value, interval_reason="too_few_items"), n, n_missing)
    df = degrees_of_freedom(variance)
    half = t_quantile(df, (1 + level) / 2) * variance.variance**0.5
    interval = Interval(value - half, value + half, level, f"multiway t({df}) of log odds", n)
    return LengthPull(Estimate(value, interval=interval), n, n_missing)


def _aligned(
    first_length: npt.ArrayLike,
    second_length: npt.ArrayLike,
    answer: npt.ArrayLike,
    truth: npt.ArrayLike,
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    chosen, right = chosen_slots(answer), chosen_slots(truth)
    one = np.asarray(first_length, dtype=np.float64)
    two = np.asarray(second_length, dtype=np.float64)
    if not chosen.shape == right.shape == one.shape == two.shape:
        raise ValueError(
            "Lengths, `answer` and `truth` must have one length, got "
            f"{one.size}, {two.size}, {chosen.size} and {right.size}."
        )
    return one, two, chosen, right


def _fit(design: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Coefficients and the inverse of the information; None if they are infinite."""
    coefficients = np.zeros(design.shape[1])
    for _ in range(MAX_STEPS):
        p = expit(design @ coefficients)
        information = (design * (p * (1 - p))[:, None]).T @ design
        if np.linalg.cond(information) > 1e12:
            return None
        bread = np.linalg.inv(information)
        step = bread @ (design.T @ (y - p))
        coefficients = coefficients + step
        if np.abs(coefficients).max() > SEPARATED:
            return None
        if np.abs(step).max() < 1e-10:
            return coefficients, np.asarray(bread, dtype=np.float64)
    return None
