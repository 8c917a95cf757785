"""Differences under many specifications, with fast intervals for each unit that varies.

A finding that holds only for one way of breaking ties, one threshold or one unit of resampling is
a finding about that choice. Intervals here are closed forms of resampling whole units, so that
dozens of specifications cost no more than one bootstrap.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats

from ..core.checks import check_level, relabel
from ..core.clusters import (
    MAX_ANNOTATORS,
    MAX_LINKS,
    MIN_BLOCKS,
    MIN_DEGREES_OF_FREEDOM,
    _degrees_of_freedom,
    _incidence,
)
from ..core.results import BoolArray, FloatArray, IntArray, Reason
from ..core.votes import Votes


@dataclass(frozen=True, eq=False)
class Clusters:
    """Units of items that are resampled as a whole.

    Attributes
    ----------
    codes : ndarray of int, shape (n_items,)
        Unit of each item, ``0..n-1``.
    n : int
        Number of units.
    """

    codes: IntArray
    n: int

    @classmethod
    def of(cls, codes: npt.ArrayLike) -> "Clusters":
        """Build from any codes; equal ones are one unit."""
        return cls(*relabel(codes))

    def spread(self, scores: FloatArray, counted: BoolArray) -> tuple[float, float] | None:
        """Variance of an error that is the sum of `scores`, and its degrees of freedom.

        Only units with a `counted` item are used; None with fewer than 8 of them.
        """
        present = np.bincount(self.codes[counted], minlength=self.n) > 0
        n = int(present.sum())
        if n < MIN_BLOCKS:
            return None
        sums = np.bincount(self.codes, weights=scores, minlength=self.n)
        return n / (n - 1) * float(sums @ sums), n - 1


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


Unit = Clusters | SharedPeople


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
    incidence = _incidence(votes)
    per_person = incidence.sum(axis=0)
    people = np.flatnonzero(per_person)
    if people.size > MAX_ANNOTATORS or (per_person**2).sum() > MAX_LINKS:
        return None
    incidence = incidence[:, people]
    shared = sparse.csr_array(((incidence @ incidence.T) > 0).astype(np.float64))
    degrees = _degrees_of_freedom(incidence, shared)
    return SharedPeople(shared, degrees) if degrees >= MIN_DEGREES_OF_FREEDOM else None


@dataclass(frozen=True)
class Contrast:
    """Difference with its intervals under one specification.

    Attributes
    ----------
    value : float or None
        First side minus second.
    ends, narrow : tuple of float or None
        t intervals at `level` and at twice its error; the second is compared with a margin.
    p : float or None
        Two-sided p value of no difference.
    n, n_second : int
        Number of items of the first and of the second side.
    se, degrees_of_freedom : float or None
        Standard error and degrees of freedom of the intervals.
    reason : str or None
        Why `value` is None, or why it has no intervals: ``"empty_group"``, ``"too_few_items"``
        (fewer than 8 units) or ``"no_variation"``.
    """

    value: float | None
    ends: tuple[float, float] | None
    narrow: tuple[float, float] | None
    p: float | None
    n: int
    n_second: int
    reason: Reason | None = None
    se: float | None = None
    degrees_of_freedom: float | None = None

    def p_equivalence(self, margin: float) -> float | None:
        """The larger p value of the two one-sided tests of a difference beyond the margin."""
        if self.value is None or self.se is None or self.degrees_of_freedom is None:
            return None
        return float(stats.t.sf((margin - abs(self.value)) / self.se, self.degrees_of_freedom))


def paired_contrast(
    first: npt.ArrayLike, second: npt.ArrayLike, unit: Unit, *, level: float = 0.95
) -> Contrast:
    r"""Mean difference of two sides' credits over the items that both have.

    Parameters
    ----------
    first, second : array_like of float, shape (n_items,)
        Credit from 0 to 1; NaN if the item does not count for a side.
    unit : Clusters or SharedPeople
        The unit that varies.
    level : float, default 0.95

    Returns
    -------
    Contrast

    Notes
    -----
    :math:`\bar d \pm t\sqrt V` with scores :math:`(d_i - \bar d)/n` summed within units.
    With items as units it is the paired t test.

    Examples
    --------
    >>> one = paired_contrast([1, 0, 1, 1] * 5, [0, 0, 1, 1] * 5, Clusters.of(range(20)))
    >>> one.value, one.n, round(one.p, 3)
    (0.25, 20, 0.021)
    """
    ours, theirs = _floats(first), _floats(second)
    both = ~np.isnan(ours) & ~np.isnan(theirs)
    n = int(both.sum())
    if n == 0:
        return _empty(0, 0)
    difference = np.where(both, ours - theirs, 0.0)
    value = float(difference.sum()) / n
    scores = np.where(both, difference - value, 0.0) / n
    return _contrast(value, scores, both, unit, (n, n), level)


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

    For the items of which each side is certain: the sets overlap and differ.

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
    >>> right, sure = [1, 1, 1, 0] * 5, [1, 1, 0, 1] * 5
    >>> found = set_contrast(right, sure, right, [1] * 20, Clusters.of(range(20)))
    >>> round(found.value, 4), found.n, found.n_second
    (-0.0833, 15, 20)
    """
    ours, theirs = _floats(first), _floats(second)
    chosen = np.asarray(first_in, dtype=np.bool_) & ~np.isnan(ours)
    others = np.asarray(second_in, dtype=np.bool_) & ~np.isnan(theirs)
    n, n_second = int(chosen.sum()), int(others.sum())
    if min(n, n_second) == 0:
        return _empty(n, n_second)
    mean, other = float(ours[chosen].mean()), float(theirs[others].mean())
    scores = np.where(chosen, ours - mean, 0.0) / n
    scores -= np.where(others, theirs - other, 0.0) / n_second
    return _contrast(mean - other, scores, chosen | others, unit, (n, n_second), level)


def _contrast(
    value: float,
    scores: FloatArray,
    counted: BoolArray,
    unit: Unit,
    sizes: tuple[int, int],
    level: float,
) -> Contrast:
    check_level(level)
    spread = unit.spread(scores, counted)
    if spread is None:
        return Contrast(value, None, None, None, *sizes, "too_few_items")
    variance, degrees_of_freedom = spread
    se = math.sqrt(variance)
    # Rounding leaves about 1e-17 where the units are exactly equal.
    if se < 1e-12:
        return Contrast(value, None, None, None, *sizes, "no_variation")
    t = stats.t(degrees_of_freedom)
    half, less = float(t.ppf((1 + level) / 2)) * se, float(t.ppf(level)) * se
    return Contrast(
        value,
        (value - half, value + half),
        (value - less, value + less),
        float(2 * t.sf(abs(value) / se)),
        *sizes,
        se=se,
        degrees_of_freedom=degrees_of_freedom,
    )


def _empty(n: int, n_second: int) -> Contrast:
    return Contrast(None, None, None, None, n, n_second, "empty_group")


def _floats(values: npt.ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
