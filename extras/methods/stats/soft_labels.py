"""Distance between a judge's distribution over the options and people's."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.bootstrap import row_sums
from analysis.stats.core.results import FloatArray, IntArray, Reason
from analysis.stats.core.shared_variance import Sharing

# Weights of r1, r2 and the tie. Options are in the order r1, tie, r2, half a unit apart, so the
# Wasserstein distance depends on the shares of r1 and of r2 alone.
_MANHATTAN, _WASSERSTEIN = (0.5, 0.5, 0.5), (0.5, 0.5, 0.0)


@dataclass(frozen=True)
class SoftLabelScores:
    """Distance between a judge's and people's distributions, on the items that have both.

    Attributes
    ----------
    n_items : int
        Items with two or more answers and a distribution of the judge.
    squared : GeneralDifference
        Squared distance, unbiased at any number of answers: 0 for the distribution of people in
        general, at most 1. Can be below 0 by chance.
    manhattan, wasserstein : float or None
        Distance from the observed shares, 0 to 1. Few answers make it larger.
    manhattan_by_chance, wasserstein_by_chance : float or None
        The same if people answered by the judge's distribution: the effect of few answers alone.
    reason : str or None
        Why these are None: ``"no_pairs"`` without an item that has two answers.
    """

    n_items: int
    squared: GeneralDifference
    manhattan: float | None = None
    manhattan_by_chance: float | None = None
    wasserstein: float | None = None
    wasserstein_by_chance: float | None = None
    reason: Reason | None = None


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
    options that is :math:`(q-p)^2`, the Manhattan distance [1]_, here
    :math:`\frac12\sum_o|q_o-\hat p_o|`, is :math:`|q-\hat p|`, and so is Wasserstein's.

    References
    ----------
    .. [1] E. Leonardelli et al., "SemEval-2023 Task 11: Learning with Disagreements (LeWiDi)",
       SemEval 2023.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = soft_label_scores([[0.5, 0.5]] * 40, [[2, 1], [0, 3]] * 20, sharing)
    >>> round(found.squared.value, 3), round(found.manhattan, 3), found.manhattan_by_chance
    (0.083, 0.333, 0.25)
    """
    q, votes = np.asarray(shares, dtype=np.float64), np.asarray(counts, dtype=np.int64)
    if q.shape != votes.shape or q.ndim != 2 or q.shape[1] not in (2, 3):
        raise ValueError(
            "`shares` and `counts` must have one shape (n_items, 2 or 3), got "
            f"{q.shape} and {votes.shape}."
        )
    distance = squared_distances(q, votes, noise)
    squared = general_difference(distance, sharing, level=level)
    known = ~np.isnan(distance)
    if not known.any():
        return SoftLabelScores(0, GeneralDifference(None, reason="no_pairs"), reason="no_pairs")
    q, votes = q[known], votes[known]
    n = row_sums(votes)
    off, chance = np.abs(q - votes / n[:, None]), _chance(q, n)
    manhattan, wasserstein = (np.array(each[: q.shape[1]]) for each in (_MANHATTAN, _WASSERSTEIN))
    return SoftLabelScores(
        int(known.sum()),
        squared,
        manhattan=float((off @ manhattan).mean()),
        manhattan_by_chance=float((chance @ manhattan).mean()),
        wasserstein=float((off @ wasserstein).mean()),
        wasserstein_by_chance=float((chance @ wasserstein).mean()),
    )


def squared_distances(
    shares: FloatArray, counts: IntArray, noise: npt.ArrayLike | None = None
) -> FloatArray:
    """Unbiased squared distance of each item, shape (n_items,); NaN below two."""
    n = row_sums(counts)
    several = n >= 2
    p = counts / np.maximum(n, 1)[:, None]
    own = p * (1 - p) / np.maximum(n - 1, 1)[:, None]
    distance = ((shares - p) ** 2 - own).sum(axis=1) / 2
    if noise is not None:
        distance = distance - np.nan_to_num(np.asarray(noise, dtype=np.float64))
    return np.where(several, distance, np.nan)


def _chance(q: FloatArray, n: IntArray) -> FloatArray:
    """Expected distance between q and the share among n answers drawn from q, by entry."""
    found = np.empty_like(q)
    for size in np.unique(n):
        rows = n == size
        of, inverse = np.unique(q[rows], return_inverse=True)
        of = np.clip(of, 0.0, 1.0)
        k = np.arange(size + 1)
        expected = (stats.binom.pmf(k, size, of[:, None]) * np.abs(of[:, None] - k / size)).sum(
            axis=1
        )
        found[rows] = expected[inverse].reshape(-1, q.shape[1])
    return found
