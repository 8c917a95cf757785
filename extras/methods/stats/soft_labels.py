"""Distance between a judge's distribution over the options and people's."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.shared_variance import Sharing


@dataclass(frozen=True)
class SoftLabelScores:
    """Distance between a judge's and people's distributions, on the items that have both.

    Attributes
    ----------
    n_items : int
        Items with two or more answers and a distribution of the judge.
    squared : GeneralDifference
        Squared distance, unbiased at any number of answers: 0 for the distribution of people in
        general, at most 1. Can be below 0 by chance; its reason is ``"no_pairs"`` without an item
        that has two answers.
    """

    n_items: int
    squared: GeneralDifference


def soft_label_scores(
    shares: npt.ArrayLike,
    counts: npt.ArrayLike,
    sharing: Sharing,
    *,
    noise: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> SoftLabelScores:
    r"""Compare a judge's distribution with people's answers, item by item.

    Parameters
    ----------
    shares : array_like of float, shape (n_items, n_options)
        The judge's probabilities of r1, r2 and, if it is an option, the tie; NaN where unknown.
    counts : array_like of int, shape (n_items, n_options)
        Answers of people.
    sharing : Sharing
        What the items share, including the people who answered.
    noise : array_like of float, shape (n_items,), optional
        Half the sum of the variances of `shares`, if these are shares of a few readings; NaN counts
        as 0.
    level : float, default 0.95

    Returns
    -------
    SoftLabelScores

    Notes
    -----
    With shares :math:`\hat p_o` of k answers, the squared distance of an item is
    :math:`\frac12\sum_o[(q_o-\hat p_o)^2-\hat p_o(1-\hat p_o)/(k-1)]` minus the noise of q. Its
    expected value is :math:`\frac12\sum_o(q_o-p_o)^2` for the shares p of all people. With two
    options that is :math:`(q-p)^2`.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = soft_label_scores([[0.5, 0.5]] * 40, [[2, 1], [0, 3]] * 20, sharing)
    >>> round(found.squared.value, 3)
    0.083
    """
    q, votes = np.asarray(shares, dtype=np.float64), np.asarray(counts, dtype=np.int64)
    if q.shape != votes.shape or q.ndim != 2 or q.shape[1] not in (2, 3):
        raise ValueError(
            "`shares` and `counts` must have one shape (n_items, 2 or 3), got "
            f"{q.shape} and {votes.shape}."
        )
    distance = squared_distances(q, votes, noise)
    n_items = int((~np.isnan(distance)).sum())
    if not n_items:
        return SoftLabelScores(0, GeneralDifference(None, reason="no_pairs"))
    return SoftLabelScores(n_items, general_difference(distance, sharing, level=level))


def squared_distances(
    shares: FloatArray, counts: IntArray, noise: npt.ArrayLike | None = None
) -> FloatArray:
    """Unbiased squared distance of each item, shape (n_items,); NaN below two."""
    n = counts.sum(axis=1)
    several = n >= 2
    p = counts / np.maximum(n, 1)[:, None]
    own = p * (1 - p) / np.maximum(n - 1, 1)[:, None]
    distance = ((shares - p) ** 2 - own).sum(axis=1) / 2
    if noise is not None:
        distance = distance - np.nan_to_num(np.asarray(noise, dtype=np.float64))
    return np.where(several, distance, np.nan)
