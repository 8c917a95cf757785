"""Answers as sets: one response, the other, or either."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.shared_variance import Sharing

# Rows: the sets {r1}, {r2} and {r1, r2}; columns: whether it contains r1, and r2.
_IN_SET = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
ROUNDING = 9


@dataclass(frozen=True, eq=False)
class ForcedChoices:
    """Forced choices given the set that the same rater answered.

    Attributes
    ----------
    counts : ndarray of int, shape (3, 2)
        Pairs of answers by set ({r1}, {r2}, both) and by forced choice (r1, r2).
    shares : ndarray of float, shape (3, 2)
        The same as shares of each set; one half each for a set that never occurs.
    """

    counts: IntArray
    shares: FloatArray


def set_vectors(shares: npt.ArrayLike) -> FloatArray:
    """Shares of answers that include r1, and that include r2.

    Parameters
    ----------
    shares : array_like of float, shape (n_items, 3)
        Shares of the sets {r1}, {r2} and both.

    Returns
    -------
    ndarray of float, shape (n_items, 2)

    Examples
    --------
    >>> set_vectors([[0.5, 0.25, 0.25]]).tolist()
    [[0.75, 0.5]]
    """
    return np.asarray(np.asarray(shares, dtype=np.float64) @ _IN_SET, dtype=np.float64)


def set_distance(
    shares: npt.ArrayLike,
    counts: npt.ArrayLike,
    sharing: Sharing,
    *,
    level: float = 0.95,
) -> GeneralDifference:
    r"""Mean squared distance between the set vectors of a judge and of people in general.

    Parameters
    ----------
    shares : array_like of float, shape (n_items, 3)
        The judge's probabilities of the sets {r1}, {r2} and both; NaN where unknown.
    counts : array_like of int, shape (n_items, 3)
        People's answers by set; items with fewer than two are left out.
    sharing : Sharing
        What the items share, including the people who answered.
    level : float, default 0.95

    Returns
    -------
    GeneralDifference

    Notes
    -----
    With vectors v of the judge and :math:`\hat p` of k answers, the distance of an item is the mean
    over both responses of :math:`(v-\hat p)^2-\hat p(1-\hat p)/(k-1)`, whose expected value is the
    distance from the vectors of all people [1]_. It depends only on the judge's sets, not on its
    forced choices.

    References
    ----------
    .. [1] L. Guerdan et al., "Validating LLM-as-a-Judge Systems under Rating Indeterminacy",
       arXiv 2503.05965, 2025.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = set_distance([[0, 0, 1]] * 40, [[2, 0, 2], [0, 2, 2]] * 20, sharing)
    >>> round(found.value, 3)
    0.083
    """
    votes = np.asarray(counts, dtype=np.int64)
    n = votes.sum(axis=1)
    p = set_vectors(votes / np.maximum(n, 1)[:, None])
    squared = (set_vectors(shares) - p) ** 2 - p * (1 - p) / np.maximum(n - 1, 1)[:, None]
    return general_difference(np.where(n >= 2, squared.mean(axis=1), np.nan), sharing, level=level)


def forced_choices(sets: npt.ArrayLike, forced: npt.ArrayLike) -> ForcedChoices:
    """Estimate how a rater chooses when forced, given its set answer.

    Parameters
    ----------
    sets : array_like of int, shape (n,)
        0 {r1}, 1 {r2}, 2 both; other pairs are left out.
    forced : array_like of int, shape (n,)
        0 r1, 1 r2; other pairs are left out.

    Returns
    -------
    ForcedChoices

    Examples
    --------
    >>> forced_choices([0, 0, 2, 2, 2, 2], [0, 0, 0, 0, 0, 1]).shares.tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.75, 0.25]]
    """
    one, two = np.asarray(sets, dtype=np.int64), np.asarray(forced, dtype=np.int64)
    if one.shape != two.shape:
        raise ValueError(f"`sets` has shape {one.shape}, `forced` {two.shape}.")
    both = np.isin(one, (0, 1, 2)) & np.isin(two, (0, 1))
    counts = np.bincount(one[both] * 2 + two[both], minlength=6).reshape(3, 2)
    n = counts.sum(axis=1, keepdims=True)
    return ForcedChoices(counts, np.where(n > 0, counts / np.maximum(n, 1), 0.5))


def forced_shares(shares: npt.ArrayLike, matrix: npt.ArrayLike) -> FloatArray:
    """Shares of r1 and r2 if everybody were forced to choose.

    Parameters
    ----------
    shares : array_like of float, shape (n_items, 3)
        Shares of the sets {r1}, {r2} and both.
    matrix : array_like of float, shape (3, 2)
        Shares of r1 and r2 when forced, for each set.

    Returns
    -------
    ndarray of float, shape (n_items, 2)

    Examples
    --------
    >>> forced_shares([[0.5, 0.0, 0.5]], [[1, 0], [0, 1], [0.5, 0.5]]).tolist()
    [[0.75, 0.25]]
    """
    chosen, forced = np.asarray(shares, dtype=np.float64), np.asarray(matrix, dtype=np.float64)
    if forced.shape != (3, 2):
        raise ValueError(f"`matrix` must have shape (3, 2), got {forced.shape}.")
    return np.asarray(chosen @ forced, dtype=np.float64)


def ranks(distances: Sequence[float | None]) -> list[int | None]:
    """Ranks by distance, smallest first; equal distances share a rank, None has none.

    Parameters
    ----------
    distances : sequence of float or None

    Returns
    -------
    list of int or None

    Examples
    --------
    >>> ranks([0.2, 0.1, None, 0.1])
    [3, 1, None, 1]
    """
    known = [None if distance is None else round(distance, ROUNDING) for distance in distances]
    return [
        None if own is None else 1 + sum(other is not None and other < own for other in known)
        for own in known
    ]
