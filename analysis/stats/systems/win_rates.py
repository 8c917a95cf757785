"""Win rates of systems."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..comparison.general_difference import (
    GeneralDifference,
    general_differences,
    interval_of,
    why_not,
)
from ..core.results import Estimate, FloatArray, IntArray, check_level, t_quantile
from ..core.shared_variance import Sharing

TIE = 2


@dataclass(frozen=True, eq=False)
class Contests:
    """The systems that wrote the two responses of each item.

    Attributes
    ----------
    first, second : ndarray of int, shape (n_items,)
        Codes of the systems, from 0; both are -1 for an item that does not compare two of them.
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
        """Positions of the items that compare two systems and have all choices."""
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
    """Build estimates whose errors are means of `scores`, shape (n_estimates, n_rows)."""
    if reason := why_not(sharing):
        return [Estimate(float(mean), interval_reason=reason) for mean in value]
    spread, estimates = sharing.spread(scores), []
    for mean, variance, df in zip(value, spread.variance, spread.degrees_of_freedom, strict=True):
        if variance <= 0:
            estimates.append(Estimate(float(mean), interval_reason="no_variation"))
            continue
        half = t_quantile(float(df), (1 + level) / 2) * math.sqrt(variance)
        ends = float(mean) - half, float(mean) + half
        interval = interval_of(*ends, level, "general t", sharing)
        estimates.append(Estimate(float(mean), interval=interval))
    return estimates


@dataclass(frozen=True)
class WinRate:
    """Share of contests that a system wins; a tie counts half.

    Attributes
    ----------
    wins, ties, n : int
        Contests won, tied, and in total.
    rate : Estimate
        Undefined (``"empty_group"``) without contests.
    """

    wins: int
    ties: int
    n: int
    rate: Estimate


def win_rates(
    contests: Contests, choice: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95
) -> list[WinRate]:
    r"""Win rate of every system.

    Parameters
    ----------
    contests : Contests
    choice : array_like of int, shape (n_items,)
        0 first response, 1 second response, 2 a tie, -1 missing.
    sharing : Sharing
        What the items share, one row per item.
    level : float, default 0.95

    Returns
    -------
    list of WinRate
        One per system.

    Notes
    -----
    :math:`(1+\bar m)/2` with margins m of 1, 0 or -1; the interval is that of
    `general_difference` for :math:`\bar m`, which has a width if a system always wins.

    Examples
    --------
    >>> contests = Contests.of([0, 1, 0, 0] * 10, [1, 0, 1, 1] * 10)
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 2})
    >>> [(each.wins, each.n, each.rate.value) for each in win_rates(contests, [0] * 40, sharing)]
    [(30, 40, 0.75), (10, 40, 0.25)]
    """
    check_level(level)
    rows = contests.rows(choice)
    margin, signs = margins(choice, rows), contests.signs(rows)
    rates = []
    for system in range(contests.n_systems):
        own = np.flatnonzero(signs[system])
        gained = signs[system, own] * margin[own]
        if not own.size:
            rates.append(WinRate(0, 0, 0, Estimate(None, "empty_group")))
            continue
        [mean] = general_differences(gained[None], sharing.take(rows[own]), level=level)
        wins, ties = int((gained > 0).sum()), int((gained == 0).sum())
        rates.append(WinRate(wins, ties, own.size, half_scale(mean)))
    return rates


def half_scale(mean: GeneralDifference) -> Estimate:
    """A mean margin from -1 to 1 as a share from 0 to 1."""
    value = None if mean.value is None else (1 + mean.value) / 2
    interval = mean.interval
    if interval is not None:
        interval = replace(interval, low=(1 + interval.low) / 2, high=(1 + interval.high) / 2)
    return Estimate(value, mean.reason, interval, mean.interval_reason)
