"""Differences of two sides on different sets of items, and links between items sharing people."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from analysis.stats.core.clusters import (
    MAX_ANNOTATORS,
    MAX_LINKS,
    MIN_BLOCKS,
    MIN_DEGREES_OF_FREEDOM,
    degrees_of_shared,
    incidence_of,
)
from analysis.stats.core.results import BoolArray, FloatArray
from analysis.stats.core.votes import Votes
from extras.choices.stats.contrasts import Contrast, Unit, contrast_of, empty_contrast


@dataclass(frozen=True, eq=False)
class SharedPeople:
    """Links between items that share an annotator, in designs without blocks.

    Attributes
    ----------
    shared : sparse array of float, shape (n_items, n_items)
        1 where two items share an annotator, and on the diagonal of items with votes.
    degrees_of_freedom : float
        Satterthwaite's, over all items with votes.
    """

    shared: sparse.csr_array
    degrees_of_freedom: float

    def spread(self, scores: FloatArray, counted: BoolArray) -> tuple[float, float] | None:
        """As `Clusters.spread`; see `analysis.stats.core.clusters.shared_annotator_interval`."""
        there = counted.astype(np.float64)
        n = float(there.sum())
        density = float(there @ (self.shared @ there)) / n**2
        if n < MIN_BLOCKS or density >= 1:
            return None
        independent = n / (n - 1) * float(scores @ scores)
        linked = float(scores @ (self.shared @ scores)) / (1 - density)
        return max(linked, independent), self.degrees_of_freedom


def shared_people(votes: Votes) -> SharedPeople | None:
    """Find which items share a person.

    Parameters
    ----------
    votes : Votes
        Who voted on what.

    Returns
    -------
    SharedPeople or None
        None with too few people (fewer than 4 degrees of freedom), or with too many for the
        memory (3,000, or 10 million pairs of items that share one).

    Examples
    --------
    >>> votes = Votes.from_matrix(np.eye(12, dtype=int) + np.eye(12, k=1, dtype=int) - 1)
    >>> unit = shared_people(votes)
    >>> int(unit.shared.sum()), round(unit.degrees_of_freedom, 1)
    (34, 4.5)
    """
    incidence = incidence_of(votes)
    per_person = incidence.sum(axis=0)
    people = np.flatnonzero(per_person)
    if people.size > MAX_ANNOTATORS or (per_person**2).sum() > MAX_LINKS:
        return None
    incidence = incidence[:, people]
    shared = sparse.csr_array(((incidence @ incidence.T) > 0).astype(np.float64))
    degrees = degrees_of_shared(incidence, shared)
    return SharedPeople(shared, degrees) if degrees >= MIN_DEGREES_OF_FREEDOM else None


def set_contrast(
    first: npt.ArrayLike,
    first_in: npt.ArrayLike,
    second: npt.ArrayLike,
    second_in: npt.ArrayLike,
    unit: Unit,
    *,
    level: float = 0.95,
) -> Contrast:
    r"""Mean credit of one side on its own set of items minus the other side's on its own set.

    Used for the items of which each side is certain: the sets overlap but differ.

    Parameters
    ----------
    first, second : array_like of float, shape (n_items,)
        Credits; NaN if the item does not count for a side.
    first_in, second_in : array_like of bool, shape (n_items,)
        The items of each side's set.
    unit : Clusters or SharedPeople
    level : float, default 0.95

    Returns
    -------
    Contrast

    Notes
    -----
    Linearised: an item's score is
    :math:`1[i\in S_1](y_{1i}-\bar y_1)/n_1 - 1[i\in S_2](y_{2i}-\bar y_2)/n_2`. The sets are taken
    as fixed; a bootstrap that forms them again agrees to first order.

    Examples
    --------
    >>> from extras.choices.stats import Clusters
    >>> right, sure = [1, 1, 1, 0] * 5, [1, 1, 0, 1] * 5
    >>> found = set_contrast(right, sure, right, [1] * 20, Clusters.of(range(20)))
    >>> round(found.value, 4), found.n, found.n_second
    (-0.0833, 15, 20)
    """
    ours, theirs = (np.asarray(side, dtype=np.float64) for side in (first, second))
    chosen = np.asarray(first_in, dtype=np.bool_) & ~np.isnan(ours)
    others = np.asarray(second_in, dtype=np.bool_) & ~np.isnan(theirs)
    n, n_second = int(chosen.sum()), int(others.sum())
    if min(n, n_second) == 0:
        return empty_contrast(n, n_second)
    mean, other = float(ours[chosen].mean()), float(theirs[others].mean())
    scores = np.where(chosen, ours - mean, 0.0) / n
    scores -= np.where(others, theirs - other, 0.0) / n_second
    return contrast_of(mean - other, scores, chosen | others, unit, (n, n_second), level)
