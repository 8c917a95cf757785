"""Items in which the responses of two systems meet."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import interval_of, why_not
from analysis.stats.core.checks import t_quantile
from analysis.stats.core.results import Estimate, FloatArray, IntArray
from analysis.stats.core.shared_variance import Sharing

TIE = 2


@dataclass(frozen=True, eq=False)
class Contests:
    """Which systems wrote the two responses of each item.

    Attributes
    ----------
    first, second : ndarray of int, shape (n_items,)
        Codes of the systems, from 0; -1 in both for an item that does not compare two of them.
    n_systems : int
    """

    first: IntArray
    second: IntArray
    n_systems: int

    @classmethod
    def of(cls, first: npt.ArrayLike, second: npt.ArrayLike) -> "Contests":
        """Build from codes; raises ValueError if a system meets itself or only one is known."""
        one, two = (np.asarray(codes, dtype=np.int64) for codes in (first, second))
        if one.ndim != 1 or one.shape != two.shape:
            raise ValueError(f"`first` and `second` differ in shape: {one.shape}, {two.shape}.")
        known = one >= 0
        if ((two >= 0) != known).any() or (one == two)[known].any():
            raise ValueError("An item names two different systems, or -1 twice.")
        return cls(one, two, int(max(one.max(initial=-1), two.max(initial=-1))) + 1)

    def rows(self, *choices: npt.ArrayLike) -> IntArray:
        """Positions of the items that compare two systems and have every one of the choices."""
        has = self.first >= 0
        for choice in choices:
            codes = np.asarray(choice)
            if codes.shape != has.shape or not np.isin(codes, (-1, 0, 1, TIE)).all():
                raise ValueError("Choices are 0, 1, 2 (a tie) or -1, one for each item.")
            has = has & (codes >= 0)
        return np.flatnonzero(has)

    def signs(self, rows: IntArray) -> FloatArray:
        """1 where a system is first, -1 where it is second, shape (n_systems, n_rows)."""
        signs = np.zeros((self.n_systems, rows.size))
        at = np.arange(rows.size)
        signs[self.first[rows], at] = 1.0
        signs[self.second[rows], at] = -1.0
        return signs


def margins(choice: npt.ArrayLike, rows: IntArray) -> FloatArray:
    """1 if the first system won, -1 if the second did, 0 for a tie; shape (n_rows,)."""
    chosen = np.asarray(choice, dtype=np.int64)[rows]
    return np.where(chosen == TIE, 0.0, 1.0 - 2.0 * chosen)


def linearised(
    value: FloatArray, scores: FloatArray, sharing: Sharing, *, level: float
) -> list[Estimate]:
    """Estimates whose errors are means of `scores`, shape (n_estimates, n_rows)."""
    if reason := why_not(sharing):
        return [Estimate(float(each), interval_reason=reason) for each in value]
    spread, found = sharing.spread(scores), []
    for each, variance, df in zip(value, spread.variance, spread.degrees_of_freedom, strict=True):
        if variance <= 0:
            found.append(Estimate(float(each), interval_reason="no_variation"))
            continue
        half = t_quantile(float(df), (1 + level) / 2) * math.sqrt(variance)
        ends = float(each) - half, float(each) + half
        interval = interval_of(*ends, level, "general t", sharing)
        found.append(Estimate(float(each), interval=interval))
    return found
