"""How much answers change when one attribute of a persona does."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import FloatArray
from analysis.stats.core.shared_variance import Sharing


@dataclass(frozen=True)
class Reliance:
    """How far the distribution of answers moves between an item and its changed twin.

    Attributes
    ----------
    n : int
        Pairs of items that count.
    squared : GeneralDifference
        Mean squared shift of the share of a response, without what chance adds to it. It can be
        below 0 where there is no shift.
    shift : float or None
        Its root, in shares; 0 if `squared` is below 0.
    """

    n: int
    squared: GeneralDifference
    shift: float | None


def squared_shifts(
    before: npt.ArrayLike, after: npt.ArrayLike, *, has_chance: bool = True
) -> FloatArray:
    r"""The squared shift of each pair of items, without bias from chance.

    Parameters
    ----------
    before, after : array_like of int, shape (n_pairs, n_options)
        Answers to the item as it is, and to its changed twin, by option.
    has_chance : bool, default True
        Whether another answer to the same item could differ. If False, one answer is enough.

    Returns
    -------
    ndarray of float, shape (n_pairs,)
        NaN where either item has fewer than two answers, or none if `has_chance` is False.

    Raises
    ------
    ValueError
        If the shapes differ.

    Notes
    -----
    With shares p of k answers and q of m,
    :math:`\frac12\sum_o[(p_o-q_o)^2-\frac{p_o(1-p_o)}{k-1}-\frac{q_o(1-q_o)}{m-1}]`. Its expected
    value is :math:`\frac12\sum_o(p_o-q_o)^2` of the shares among all answers: with two options
    the squared difference of the shares of a response. It also is how much more often two answers
    differ across the twins than within them.

    Examples
    --------
    >>> squared_shifts([[3, 0], [2, 1]], [[0, 3], [2, 1]]).round(3).tolist()
    [1.0, -0.222]
    """
    one, two = (np.asarray(counts, dtype=np.float64) for counts in (before, after))
    if one.shape != two.shape or one.ndim != 2:
        raise ValueError(f"`before` and `after` differ in shape: {one.shape}, {two.shape}.")
    k, m = one.sum(axis=1), two.sum(axis=1)
    fewest = 2 if has_chance else 1
    known = (k >= fewest) & (m >= fewest)
    p, q = one / np.maximum(k, 1)[:, None], two / np.maximum(m, 1)[:, None]
    found = ((p - q) ** 2).sum(axis=1)
    if has_chance:
        found -= (p * (1 - p)).sum(axis=1) / np.maximum(k - 1, 1)
        found -= (q * (1 - q)).sum(axis=1) / np.maximum(m - 1, 1)
    return np.where(known, found / 2, np.nan)


def reliance(shifts: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95) -> Reliance:
    """The mean of `squared_shifts`, with what pairs share as samples.

    Parameters
    ----------
    shifts : array_like of float, shape (n_pairs,)
        NaN is left out.
    sharing : Sharing
        What the pairs share: personas, questions, annotators of either twin.
    level : float, default 0.95

    Returns
    -------
    Reliance
        The difference of two sides is `general_difference` of the difference of their shifts.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = reliance([0.25, 0.25, -0.05, -0.05] * 10, sharing)
    >>> found.n, round(found.squared.value, 3), round(found.shift, 3)
    (40, 0.1, 0.316)
    """
    values = np.asarray(shifts, dtype=np.float64)
    squared = general_difference(values, sharing, level=level)
    shift = None if squared.value is None else sqrt(max(0.0, squared.value))
    return Reliance(int((~np.isnan(values)).sum()), squared, shift)
