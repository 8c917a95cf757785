"""Differences with fast intervals for each unit that varies.

Intervals here are closed forms of resampling whole units, so that dozens of differences cost no
more than one bootstrap.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.stats.core.checks import check_level, relabel
from analysis.stats.core.clusters import MIN_BLOCKS
from analysis.stats.core.results import BoolArray, FloatArray, IntArray, Reason


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


class Unit(Protocol):
    """What varies: units of items, or links between them."""

    def spread(self, scores: FloatArray, counted: BoolArray) -> tuple[float, float] | None: ...


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
    unit : Clusters
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
    ours, theirs = floats(first), floats(second)
    both = ~np.isnan(ours) & ~np.isnan(theirs)
    n = int(both.sum())
    if n == 0:
        return empty_contrast(0, 0)
    difference = np.where(both, ours - theirs, 0.0)
    value = float(difference.sum()) / n
    scores = np.where(both, difference - value, 0.0) / n
    return contrast_of(value, scores, both, unit, (n, n), level)


def contrast_of(
    value: float,
    scores: FloatArray,
    counted: BoolArray,
    unit: Unit,
    sizes: tuple[int, int],
    level: float,
) -> Contrast:
    """A difference whose error is the sum of `scores` of the `counted` items."""
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


def empty_contrast(n: int, n_second: int) -> Contrast:
    return Contrast(None, None, None, None, n, n_second, "empty_group")


def floats(values: npt.ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)
