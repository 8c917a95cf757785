"""What the persona is worth to people or a judge."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import (
    GeneralDifference,
    general_difference,
    interval_of,
    t_tail,
    why_not,
)
from analysis.stats.core.results import FloatArray, IntArray, relabel, t_quantile
from analysis.stats.core.shared_variance import Sharing

FEWEST_PERSONAS = 5  # of a question, to compare its personas with each other


def share_right(counts: npt.ArrayLike, truth: npt.ArrayLike) -> FloatArray:
    """The share of an item's answers that are right.

    Parameters
    ----------
    counts : array_like of int, shape (n_items, n_options)
    truth : array_like of int, shape (n_items,)
        The right option; -1 if unknown.

    Returns
    -------
    ndarray of float, shape (n_items,)
        NaN without an answer or a truth.

    Examples
    --------
    >>> share_right([[2, 1], [0, 3], [0, 0], [1, 1]], [0, 0, 0, -1]).round(2).tolist()
    [0.67, 0.0, nan, nan]
    """
    answers, right = np.asarray(counts, dtype=np.float64), np.asarray(truth)
    n = answers.sum(axis=1)
    hits = answers[np.arange(right.size), np.maximum(right, 0)]
    return np.where((n > 0) & (right >= 0), hits / np.maximum(n, 1), np.nan)


def persona_gain(
    own: npt.ArrayLike,
    other: npt.ArrayLike,
    truth: npt.ArrayLike,
    sharing: Sharing,
    *,
    margin: float = 0.05,
) -> GeneralDifference:
    r"""Accuracy with an item's own persona minus accuracy with another persona's profile.

    Parameters
    ----------
    own, other : array_like of int, shape (n_items, n_options)
        Answers to the item with its own persona, and with another persona, by option.
    truth : array_like of int, shape (n_items,)
        The own persona's answer, by which both are scored; -1 if unknown.
    sharing : Sharing
        What the items share: annotators and personas of either version, and questions.
    margin : float, default 0.05
        A worth inside ``(-margin, margin)`` counts as none.

    Returns
    -------
    GeneralDifference

    Notes
    -----
    The mean over items of the share of right answers with the own persona minus the share with the
    other, :math:`\bar a_i-\bar b_i`. Items without an answer to both versions are left out.

    Examples
    --------
    >>> own, other = [[3, 1], [1, 3]] * 20, [[2, 2], [2, 2]] * 20
    >>> found = persona_gain(own, other, [0, 1] * 20, Sharing.of_items(40, {}))
    >>> round(found.value, 2), found.n
    (0.25, 40)
    """
    gain = share_right(own, truth) - share_right(other, truth)
    return general_difference(gain, sharing, margin=margin)


@dataclass(frozen=True, eq=False)
class Moves:
    """How often choices differ, by item; NaN where it is undefined.

    Attributes
    ----------
    across : ndarray of float, shape (n_items,)
        Between one answer with the own persona and one with the other.
    again : ndarray of float, shape (n_items,)
        Between two answers to the same version, mean over the versions.
    """

    across: FloatArray
    again: FloatArray

    @property
    def beyond_chance(self) -> FloatArray:
        """How much more often choices differ with the other persona than when asked again."""
        return self.across - self.again


def moves_of(own: npt.ArrayLike, other: npt.ArrayLike) -> Moves:
    r"""How often choices differ with another persona, and when the same is asked again.

    Parameters
    ----------
    own, other : array_like of int, shape (n_items, n_options)
        Answers with the own persona, and with another persona, by option.

    Returns
    -------
    Moves

    Notes
    -----
    With shares p of k answers and q of m, across is :math:`1-\sum_op_oq_o` and again is the mean of
    :math:`\frac{k}{k-1}(1-\sum_op_o^2)` and :math:`\frac{m}{m-1}(1-\sum_oq_o^2)`.

    Examples
    --------
    >>> found = moves_of([[2, 0], [1, 1], [1, 0]], [[0, 2], [1, 1], [0, 1]])
    >>> found.across.tolist(), found.again.tolist()
    ([1.0, 0.5, 1.0], [0.0, 1.0, nan])
    """
    one, two = (np.asarray(counts, dtype=np.float64) for counts in (own, other))
    k, m = one.sum(axis=1), two.sum(axis=1)
    p, q = one / np.maximum(k, 1)[:, None], two / np.maximum(m, 1)[:, None]
    across = np.where((k > 0) & (m > 0), 1 - (p * q).sum(axis=1), np.nan)
    within = [
        np.where(n > 1, (1 - (share**2).sum(axis=1)) * n / np.maximum(n - 1, 1), np.nan)
        for share, n in ((p, k), (q, m))
    ]
    return Moves(across, (within[0] + within[1]) / 2)


def individuality(
    chosen: npt.ArrayLike, own: npt.ArrayLike, question: npt.ArrayLike, sharing: Sharing
) -> GeneralDifference:
    r"""The share of the differences between personas that a rater's choices reproduce.

    Parameters
    ----------
    chosen : array_like of float, shape (n_items,)
        Share of the rater's answers that chose the question's first option; NaN without one.
    own : array_like of int, shape (n_items,)
        1 if the persona chose the first option, 0 if the second.
    question : array_like of int, shape (n_items,)
        Items with the same question and options have the same code.
    sharing : Sharing
        What the items share.

    Returns
    -------
    GeneralDifference
        Its value is 1 if the choices follow every persona, and 0 if they are the same for all
        personas of a question. Reasons: ``"too_few_items"`` if no question has answers for five
        personas, ``"no_variation"`` if all personas answered alike.

    Notes
    -----
    With x the choices, t the own answers, and deviations from the question's mean,
    :math:`\sum(x_i-\bar x_q)(t_i-\bar t_q)/\sum(t_i-\bar t_q)^2`, pooled over questions. Chance
    flips do not follow the persona and count as such; the noise of single readings is not in the
    covariance, and more readings make the interval narrower. The interval is that of the ratio by
    linearisation, with shared clusters as in `general_difference`.

    Examples
    --------
    >>> own, question = np.tile([1, 1, 0, 1, 0, 0], 10), np.arange(60) // 6
    >>> sharing = Sharing.of_items(60, {"question": question})
    >>> [individuality(x, own, question, sharing).value for x in (own, own * 0)]
    [1.0, 0.0]
    """
    x, t = np.asarray(chosen, dtype=np.float64), np.asarray(own, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(x))
    codes, n_codes = relabel(np.asarray(question)[known])
    many = np.bincount(codes, minlength=n_codes)[codes] >= FEWEST_PERSONAS
    rows = known[many]
    if rows.size == 0:
        return GeneralDifference(None, reason="too_few_items")
    codes, n_codes = relabel(codes[many])
    x, t = (_centred(values[rows], codes, n_codes) for values in (x, t))
    scale = float((t**2).mean())
    if scale < 1e-12:
        return GeneralDifference(None, n=rows.size, reason="no_variation")
    value = float((x * t).mean()) / scale
    within = sharing if rows.size == sharing.n else sharing.take(rows)
    if reason := why_not(within):
        return GeneralDifference(value, n=rows.size, interval_reason=reason)
    influence = (x * t - value * t**2) / scale
    spread = within.spread(influence)
    se, df = float(np.sqrt(spread.variance[0])), float(spread.degrees_of_freedom[0])
    if se < 1e-9:  # all alike: the score interval has a width
        flat = general_difference(np.full(rows.size, round(value, 9)), within)
        return GeneralDifference(round(value, 9), 0.0, df, interval=flat.interval, n=rows.size)
    half = t_quantile(df, 0.975) * se
    ends = max(value - half, -1.0), min(value + half, 1.0)
    interval = interval_of(*ends, 0.95, "general t", within)
    p = min(2 * t_tail(df, abs(value) / se), 1.0)
    return GeneralDifference(value, se, df, p, interval, n=rows.size)


def _centred(values: FloatArray, codes: IntArray, n: int) -> FloatArray:
    return values - (np.bincount(codes, values, n) / np.bincount(codes, minlength=n))[codes]
