"""Paired difference of two sides, and equivalence within a margin."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from ..core.clusters import MIN_BLOCKS
from ..core.multiplicity import holm
from ..core.results import Interval, Reason, t_quantile
from .general_difference import GeneralDifference
from .paired import (
    PairedCounts,
    tango_interval,
    tango_statistic,
    wald_interval,
    wald_standard_error,
)

DifferenceState = Literal["different", "equivalent", "different_within_margin", "inconclusive"]
# State by whether the sides are shown to differ, and to be within the margin.
STATES: dict[tuple[bool, bool], DifferenceState] = {
    (True, True): "different_within_margin",
    (True, False): "different",
    (False, True): "equivalent",
    (False, False): "inconclusive",
}


@dataclass(frozen=True)
class PairedDifference:
    """Difference of two accuracies on the same items.

    Attributes
    ----------
    value : float or None
        ``(b - c) / n``, in [-1, 1].
    se : float or None
        Wald standard error.
    interval : Interval or None
        Tango's score interval, the one to report. It is conditional on these annotators.
    wald : Interval or None
        Wald interval, only for comparison: it has no width if nothing is discordant.
    reason : str or None
        ``"empty_group"`` if there is no item.
    """

    value: float | None
    se: float | None
    interval: Interval | None
    wald: Interval | None
    reason: Reason | None = None


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests against a margin that was set before the data.

    Attributes
    ----------
    state : str or None
        ``different``: the two-sided interval excludes 0. ``equivalent``: the narrower interval
        is inside the margin. ``different_within_margin``: both. ``inconclusive``: neither.
    margin : float
        Half-width of the zone that counts as comparable.
    p : float or None
        The larger of the two one-sided score p values.
    interval : Interval or None
        Tango interval at level ``1 - 2 * alpha``, the one compared with the margin.
    reason : str or None
        ``"empty_group"`` if there is no item.
    """

    state: DifferenceState | None
    margin: float
    p: float | None
    interval: Interval | None
    reason: Reason | None = None


@dataclass(frozen=True)
class BlockDifference:
    """Paired difference with an interval about people in general.

    Attributes
    ----------
    value : float or None
        Mean difference over items.
    se : float or None
        Cluster-robust standard error over blocks; None with too few blocks.
    p : float or None
        Two-sided p value of "no difference", t with one degree of freedom fewer than blocks.
    interval : Interval or None
        t interval over blocks.
    reason : str or None
        Why `value` is None.
    interval_reason : str or None
        Why `se`, `p` and `interval` are None although `value` is defined:
        ``"too_few_annotators"`` or ``"no_variation"``.
    """

    value: float | None
    se: float | None
    p: float | None
    interval: Interval | None
    reason: Reason | None = None
    interval_reason: Reason | None = None


def paired_difference(pairs: PairedCounts, level: float = 0.95) -> PairedDifference:
    r"""Difference of two accuracies on the same items, with Tango's interval.

    Parameters
    ----------
    pairs : PairedCounts
        Counts of :func:`analysis.stats.comparison.paired.count_pairs`.
    level : float, default 0.95
        Nominal coverage in (0, 1).

    Returns
    -------
    PairedDifference

    Notes
    -----
    :math:`d=(b-c)/n`, Wald :math:`se=\sqrt{b+c-(b-c)^2/n}/n`. Items that each side selects by its
    own certainty are not paired: compare bands on the items they share.

    Examples
    --------
    >>> result = paired_difference(PairedCounts(b=25, c=22, n=300))
    >>> round(result.value, 4), round(result.interval.low, 4), round(result.interval.high, 4)
    (0.01, -0.0358, 0.0562)
    """
    if pairs.n == 0:
        return PairedDifference(None, None, None, None, reason="empty_group")
    return PairedDifference(
        value=pairs.difference,
        se=wald_standard_error(pairs),
        interval=tango_interval(pairs, level),
        wald=wald_interval(pairs, level),
    )


def equivalence(pairs: PairedCounts, *, margin: float = 0.05, alpha: float = 0.05) -> Equivalence:
    r"""Test whether two sides are different, equivalent, both or neither.

    Parameters
    ----------
    pairs : PairedCounts
        Counts of :func:`analysis.stats.comparison.paired.count_pairs`.
    margin : float, default 0.05
        Differences inside ``(-margin, margin)`` count as comparable. It must be chosen before
        the data are seen.
    alpha : float, default 0.05
        Level of each one-sided test, and of the two-sided test of a difference.

    Returns
    -------
    Equivalence

    Raises
    ------
    ValueError
        If `margin` or `alpha` is out of range.

    Notes
    -----
    :math:`p=\max(P(Z\ge T(-m)), P(Z\le T(m)))` with Tango's statistic :math:`T`. Equivalent iff
    the Tango interval at :math:`1-2\alpha` lies inside the margin, different iff the one at
    :math:`1-\alpha` excludes 0. Wald's interval would call two sides with no discordant item
    equivalent at any number of items.

    References
    ----------
    .. [1] Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987), 657-680.
    .. [2] Tango, Statistics in Medicine 17 (1998), 891-908.

    Examples
    --------
    >>> equivalence(PairedCounts(b=25, c=22, n=300), margin=0.05).state
    'equivalent'
    >>> equivalence(PairedCounts(b=0, c=0, n=20), margin=0.05).state
    'inconclusive'
    """
    if not 0 < margin < 1:
        raise ValueError(f"`margin` must lie in (0, 1), got {margin}.")
    if not 0 < alpha < 0.5:
        raise ValueError(f"`alpha` must lie in (0, 0.5), got {alpha}.")
    if pairs.n == 0:
        return Equivalence(None, margin, None, None, reason="empty_group")

    p_lower = float(special.ndtr(-tango_statistic(pairs, -margin)))
    p_upper = float(special.ndtr(tango_statistic(pairs, margin)))
    narrow = tango_interval(pairs, 1 - 2 * alpha)
    wide = tango_interval(pairs, 1 - alpha)
    equivalent = -margin < narrow.low and narrow.high < margin
    different = wide.low > 0 or wide.high < 0
    return Equivalence(STATES[different, equivalent], margin, max(p_lower, p_upper), narrow)


def block_difference(
    differences: npt.ArrayLike, blocks: npt.ArrayLike, *, level: float = 0.95
) -> BlockDifference:
    r"""Paired difference for inference about people in general.

    Items of one block were answered by the same people, so their differences are not
    independent; the blocks are.

    Parameters
    ----------
    differences : array_like of float, shape (n_items,)
        First side minus second side per item, for example ``right_1 - right_2``; NaN marks an item
        without both, which is left out.
    blocks : array_like of int, shape (n_items,)
        Block of each item: the connected component of the graph of items and annotators.
    level : float, default 0.95
        Nominal coverage in (0, 1).

    Returns
    -------
    BlockDifference
        The interval needs at least 8 blocks.

    Raises
    ------
    ValueError
        If the shapes differ or `level` is out of range.

    Notes
    -----
    With :math:`e_i=d_i-\bar d` and :math:`G` blocks,
    :math:`V=\frac{G}{G-1}\sum_g(\sum_{i\in g}e_i)^2/n^2`, and t with :math:`G-1` degrees of
    freedom. For blocks of one size this is the t test on block means. If trios share 30 items,
    it holds its level (0.051 at 0.05) while McNemar's test does not (0.090).

    References
    ----------
    .. [1] Cameron and Miller, "A practitioner's guide to cluster-robust inference", Journal of
       Human Resources 50 (2015), 317-372.

    Examples
    --------
    >>> result = block_difference([1, 0, 0, -1, 1, 1, 0, 0] * 2, range(16))
    >>> round(result.value, 3), round(result.p, 3)
    (0.25, 0.164)
    """
    diffs, groups = np.asarray(differences, dtype=np.float64), np.asarray(blocks)
    if diffs.ndim != 1 or diffs.shape != groups.shape:
        raise ValueError(
            "`differences` and `blocks` must be one-dimensional and equally long, "
            f"got shapes {diffs.shape} and {groups.shape}."
        )
    if not 0 < level < 1:
        raise ValueError(f"`level` must lie in (0, 1), got {level}.")
    known = ~np.isnan(diffs)
    diffs, groups = diffs[known], groups[known]
    if diffs.size == 0:
        return BlockDifference(None, None, None, None, reason="empty_group")

    value = float(diffs.mean())
    block_of_item = np.unique(groups, return_inverse=True)[1]
    n_blocks = int(block_of_item.max()) + 1
    if n_blocks < MIN_BLOCKS:
        return BlockDifference(value, None, None, None, interval_reason="too_few_annotators")
    sums = np.bincount(block_of_item, weights=diffs - value)
    se = math.sqrt(n_blocks / (n_blocks - 1) * float(sums @ sums)) / diffs.size
    # Rounding leaves about 1e-17 where the blocks are exactly equal.
    if se < 1e-12:
        return BlockDifference(value, None, None, None, interval_reason="no_variation")
    half = t_quantile(n_blocks - 1, 0.5 + level / 2) * se
    p = float(2 * special.stdtr(n_blocks - 1, -abs(value) / se))
    interval = Interval(value - half, value + half, level, "block t", n_items=int(diffs.size))
    return BlockDifference(value, se, p, interval)


@dataclass(frozen=True)
class Adjusted:
    """Conclusion about one of several runs against the same people.

    Attributes
    ----------
    state : str or None
        As in :class:`Equivalence`, from the adjusted p values; None without a general interval.
    p, p_equivalence : float or None
        Holm's p values over the runs, of a difference and of equivalence.
    """

    state: DifferenceState | None
    p: float | None
    p_equivalence: float | None


def adjusted_states(differences: Sequence[GeneralDifference]) -> tuple[Adjusted, ...]:
    """Classify each of several runs, from which the best is chosen.

    The probability that any run is wrongly called different, or wrongly called equivalent, is at
    most 0.05.

    Parameters
    ----------
    found : sequence of GeneralDifference
        Each run minus the same people, from :func:`analysis.stats.general_difference`.

    Returns
    -------
    tuple of Adjusted
        In the order given.

    Examples
    --------
    >>> from .general_difference import GeneralDifference
    >>> one = GeneralDifference(0.1, p=0.02, p_equivalence=0.9)
    >>> [entry.state for entry in adjusted_states([one])]
    ['different']
    >>> [entry.state for entry in adjusted_states([one, one, one])]
    ['inconclusive', 'inconclusive', 'inconclusive']
    """
    different = holm([one.p for one in differences])
    equivalent = holm([one.p_equivalence for one in differences])
    return tuple(
        Adjusted(None if p is None or q is None else STATES[p <= 0.05, q <= 0.05], p, q)
        for p, q in zip(different, equivalent, strict=True)
    )
