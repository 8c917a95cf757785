"""Whether the position of an option decides that it is ranked first."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from analysis.stats.core.proportions import wilson_proportion
from analysis.stats.core.results import Proportion, Reason

LEAST_EXPECTED = 5.0  # first places at every position, for the chi-squared test


@dataclass(frozen=True)
class FirstPlaces:
    """The positions of the options that were ranked first.

    Attributes
    ----------
    n : int
        Lists.
    first, last : Proportion
        Share of lists whose option at the first, and at the last, position was ranked first.
    chance : float or None
        Share that is expected at any one position: the mean of one over the length.
    p : float or None
        Of the test that every position is equally likely; None if there is a `p_reason`.
    df : int
        Its degrees of freedom.
    reason : str or None
        Why there is no `chance`: ``"empty_group"``.
    p_reason : str or None
        Why there is no test: ``"empty_group"``, or ``"too_few_items"`` if some length has fewer
        than five expected first places at a position.
    """

    n: int
    first: Proportion
    last: Proportion
    chance: float | None
    p: float | None
    df: int
    reason: Reason | None
    p_reason: Reason | None


def first_places(position: npt.ArrayLike, length: npt.ArrayLike) -> FirstPlaces:
    r"""Compare positions of first-ranked options with an equal share for every position.

    Parameters
    ----------
    position : array_like of int, shape (n_lists,)
        Position, from 0, of the option that was ranked first.
    length : array_like of int, shape (n_lists,)
        Number of options of each list, at least 2.

    Returns
    -------
    FirstPlaces

    Notes
    -----
    The orders must have been drawn at random, one for each list. Then every position is equally
    likely for a judge that looks only at content, whatever it prefers, and
    :math:`\sum_k\sum_j (O_{kj}-n_k/k)^2/(n_k/k)` over lengths :math:`k` and positions :math:`j` is
    about chi-squared with :math:`\sum_k (k-1)` degrees of freedom.

    Examples
    --------
    >>> found = first_places([0] * 30 + [1] * 15 + [2] * 15, [3] * 60)
    >>> found.first.value, round(found.chance, 3), found.df, round(found.p, 4)
    (0.5, 0.333, 2, 0.0235)
    """
    places, sizes = (np.asarray(values, dtype=np.int64) for values in (position, length))
    if places.shape != sizes.shape or places.ndim != 1:
        raise ValueError(f"Shapes differ: {places.shape} and {sizes.shape}.")
    if sizes.size and (sizes.min() < 2 or places.min() < 0 or (places >= sizes).any()):
        raise ValueError("`position` must be from 0 to `length` - 1, `length` at least 2.")
    first, last = (wilson_proportion(chosen) for chosen in (places == 0, places == sizes - 1))
    if not sizes.size:
        return FirstPlaces(0, first, last, None, None, 0, "empty_group", "empty_group")
    chance = float((1 / sizes).mean())
    statistic, df = 0.0, 0
    for size in np.unique(sizes):
        counts = np.bincount(places[sizes == size], minlength=int(size))
        expected = counts.sum() / size
        if expected < LEAST_EXPECTED:
            return FirstPlaces(sizes.size, first, last, chance, None, 0, None, "too_few_items")
        statistic += float(((counts - expected) ** 2 / expected).sum())
        df += int(size) - 1
    p = float(chi2.sf(statistic, df))
    return FirstPlaces(sizes.size, first, last, chance, p, df, None, None)
