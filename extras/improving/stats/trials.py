"""One trial of several wordings on sealed items, and the size that it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.comparison.sample_sizes import mcnemar_items
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.shared_variance import Sharing

LEVEL = 0.05
# Of the items, those on which two wordings of one judge are not equally right.
USUAL_CHANGED = 0.2
# Items that share personas and questions say less than as many separate ones; by simulation.
DESIGN = 1.3


@dataclass(frozen=True)
class TriedWording:
    """One wording against the usual one.

    Attributes
    ----------
    difference : GeneralDifference
        Share of right answers with the wording minus that with the usual one.
    p_holm : float or None
        Its two-sided p value, adjusted for all wordings that were tried.
    is_better : bool
        Whether the difference is above 0 and `p_holm` at most 0.05.
    """

    difference: GeneralDifference
    p_holm: float | None
    is_better: bool


def try_wordings(
    tried: npt.ArrayLike,
    usual: npt.ArrayLike,
    sharing: Sharing,
    *,
    earlier: Sequence[float | None] = (),
) -> list[TriedWording]:
    """Compare wordings with the usual one, item by item.

    Parameters
    ----------
    tried : array_like of float, shape (n_wordings, n_items)
        1 right, 0 wrong, one half without a verdict.
    usual : array_like of float, shape (n_items,)
        The same of the usual wording.
    sharing : Sharing
        The items' personas and questions.
    earlier : sequence of float or None
        p values of wordings that were tried on these items before. The correction counts them too.

    Returns
    -------
    list of TriedWording

    Examples
    --------
    >>> sharing = Sharing.of_items(200, {"persona": np.arange(200) // 5})
    >>> usual = np.arange(200) % 4 > 1
    >>> better = usual | (np.arange(200) % 9 == 0)
    >>> found = try_wordings([better, usual], usual, sharing)
    >>> [(round(each.difference.value, 2), each.is_better) for each in found]
    [(0.06, True), (0.0, False)]
    """
    rows, base = np.atleast_2d(np.asarray(tried, float)), np.asarray(usual, float)
    gains = [general_difference(row - base, sharing) for row in rows]
    adjusted = holm([*earlier, *(gain.p for gain in gains)])[len(earlier) :]
    return [
        TriedWording(gain, p, p is not None and p <= LEVEL and (gain.value or 0.0) > 0)
        for gain, p in zip(gains, adjusted, strict=True)
    ]


def items_for_gain(gain: float, *, tried: int = 1, changed: float = USUAL_CHANGED) -> int:
    r"""Sealed items with which a trial finds a gain four times out of five.

    Parameters
    ----------
    gain : float
        Of the share of right answers, in (0, 1).
    tried : int, default 1
        Wordings in the trial, of which one has the gain.
    changed : float, default 0.2
        Share of the items on which the wording and the usual one are not equally right.

    Returns
    -------
    int

    Notes
    -----
    That of McNemar's test at the level .05 over the number of wordings, times 1.3 for personas and
    questions that items share.

    Examples
    --------
    >>> items_for_gain(0.05), items_for_gain(0.05, tried=3), items_for_gain(0.1, tried=3)
    (814, 1086, 270)
    """
    both = max(changed, gain)
    n = mcnemar_items((both + gain) / 2, (both - gain) / 2, level=LEVEL / tried)
    assert n is not None  # noqa: S101 -- a gain of 0 is out of range
    return ceil(DESIGN * n)


def findable_gain(n: int, *, tried: int = 1, changed: float = USUAL_CHANGED) -> float | None:
    """The smallest gain, in whole points, that a trial of n items finds four times out of five.

    Parameters
    ----------
    n : int
        Sealed items.
    tried, changed
        As for `items_for_gain`.

    Returns
    -------
    float or None
        None if not even a gain of 50 points is found so often.

    Examples
    --------
    >>> findable_gain(300, tried=3), findable_gain(10)
    (0.1, None)
    """
    gains = (points / 100 for points in range(1, 51))
    return next((g for g in gains if items_for_gain(g, tried=tried, changed=changed) <= n), None)
