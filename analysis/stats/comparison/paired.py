"""Paired counts of two sides, McNemar's test, and intervals for the difference.

These statistics use two counts: the items that only the first side got right (`b`) and the
items that only the second side got right (`c`). By convention the first side is the model and the
second the people, so a positive difference favours the model.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from ..core.results import Interval, Reason, normal_quantile, root_between


@dataclass(frozen=True)
class PairedCounts:
    """Right and wrong answers of two sides on the items that both answered.

    Attributes
    ----------
    b : int
        Items that only the first side got right.
    c : int
        Items that only the second side got right.
    n : int
        Items with a right or wrong answer from both sides, ``n >= b + c``.
    n_missing : int
        Items left out because a side has no answer or there is no truth.
    """

    b: int
    c: int
    n: int
    n_missing: int = 0

    def __post_init__(self) -> None:
        if min(self.b, self.c, self.n_missing) < 0 or self.b + self.c > self.n:
            raise ValueError(
                f"`b` and `c` must be counts that fit into `n`: b={self.b}, c={self.c}, n={self.n}."
            )

    @property
    def difference(self) -> float | None:
        """Accuracy of the first side minus that of the second; None without items."""
        return (self.b - self.c) / self.n if self.n else None


@dataclass(frozen=True)
class McNemar:
    """McNemar's test on the items where exactly one side is right.

    Attributes
    ----------
    b, c : int
        Discordant counts: only the first side right, only the second side right.
    p : float or None
        Exact two-sided p value; None if there is no discordant item.
    p_mid : float or None
        Mid-p value, less conservative; None if there is no discordant item.
    reason : str or None
        ``"no_discordant"`` if the p values are None.
    """

    b: int
    c: int
    p: float | None
    p_mid: float | None
    reason: Reason | None = None


def count_pairs(first_right: npt.ArrayLike, second_right: npt.ArrayLike) -> PairedCounts:
    """Count the items on which one side is right and the other is not.

    Parameters
    ----------
    first_right, second_right : array_like of int, shape (n_items,)
        1 right, 0 wrong, -1 missing (no answer, a tie, no truth), of the same items in the same
        order. An item without both sides is left out and counted.

    Returns
    -------
    PairedCounts

    Raises
    ------
    ValueError
        If the shapes differ or a value is not -1, 0 or 1.

    Examples
    --------
    >>> count_pairs([1, 1, 0, -1], [1, 0, 1, 1])
    PairedCounts(b=1, c=1, n=3, n_missing=1)
    """
    first, second = np.asarray(first_right), np.asarray(second_right)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            "`first_right` and `second_right` must be one-dimensional and equally long, "
            f"got shapes {first.shape} and {second.shape}."
        )
    for name, values in (("first_right", first), ("second_right", second)):
        if not np.isin(values, (-1, 0, 1)).all():
            raise ValueError(f"`{name}` may hold only 1 (right), 0 (wrong) and -1 (missing).")
    both = (first >= 0) & (second >= 0)
    return PairedCounts(
        b=int(np.sum(both & (first == 1) & (second == 0))),
        c=int(np.sum(both & (first == 0) & (second == 1))),
        n=int(both.sum()),
        n_missing=int(np.sum(~both)),
    )


def mcnemar(pairs: PairedCounts) -> McNemar:
    r"""McNemar's test that both sides are right equally often.

    Parameters
    ----------
    pairs : PairedCounts
        Counts from :func:`count_pairs`.

    Returns
    -------
    McNemar
        Report the exact p value. A large one does not show that two sides are
        comparable; use :func:`analysis.stats.comparison.differences.equivalence` for that.

    Notes
    -----
    Given :math:`b+c` discordant items, :math:`b` is Bin(b+c, 1/2). Exact:
    :math:`\min(1, 2P(X\le\min(b,c)))`. Mid-p: :math:`2P(X\le m)-P(X=m)` with
    :math:`m=\min(b,c)`, and :math:`1-\tfrac12P(X=b)` when :math:`b=c`. The test is valid for
    inference about items with these annotators; for people in general use
    :func:`analysis.stats.comparison.differences.block_difference`.

    References
    ----------
    .. [1] McNemar, Psychometrika 12 (1947), 153-157.
    .. [2] Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91 (2013).

    Examples
    --------
    >>> result = mcnemar(PairedCounts(b=6, c=16, n=161))
    >>> round(result.p, 6), round(result.p_mid, 6)
    (0.052479, 0.03469)
    """
    b, c = pairs.b, pairs.c
    if b + c == 0:
        return McNemar(b, c, None, None, reason="no_discordant")
    smaller = min(b, c)
    tail = float(special.bdtr(smaller, b + c, 0.5))
    below = float(special.bdtr(smaller - 1, b + c, 0.5)) if smaller else 0.0
    p_mid = 1 - 0.5 * (tail - below) if b == c else tail + below
    return McNemar(b, c, min(1.0, 2 * tail), p_mid)


def tango_statistic(pairs: PairedCounts, difference: float) -> float:
    r"""Tango's score statistic for the hypothesis that the true difference is `difference`.

    Parameters
    ----------
    pairs : PairedCounts
        With at least one item.
    difference : float
        Hypothesised difference in [-1, 1].

    Returns
    -------
    float
        Approximately standard normal under the hypothesis; positive if the data are above it.
        0 if numerator and variance are both 0, plus or minus infinity if only the variance
        is (a difference of 1 or -1 that the data contradict).

    Notes
    -----
    :math:`T(\Delta)=\frac{b-c-n\Delta}{\sqrt{n(2\tilde q+\Delta(1-\Delta))}}` where
    :math:`\tilde q` is the maximum-likelihood probability that only the second side is right
    when the difference is :math:`\Delta`: the root of
    :math:`2nq^2+(-b-c+(2n-b+c)\Delta)q-c\Delta(1-\Delta)=0`.

    References
    ----------
    .. [1] Tango, "Equivalence test and confidence interval for the difference in proportions
       for the paired-sample design", Statistics in Medicine 17 (1998), 891-908.

    Examples
    --------
    >>> round(tango_statistic(PairedCounts(b=25, c=22, n=300), 0.0), 6)  # (b-c)/sqrt(b+c)
    0.437595
    """
    if pairs.n == 0:
        raise ValueError("`pairs` holds no item.")
    if not -1 <= difference <= 1:
        raise ValueError(f"`difference` must lie in [-1, 1], got {difference}.")
    return tango_score(pairs.b, pairs.c, pairs.n, difference)


def tango_score(b: float, c: float, n: float, difference: float) -> float:
    """`tango_statistic` of counts that need not be whole, such as effective ones; ``n > 0``."""
    linear = -b - c + (2 * n - b + c) * difference
    constant = -c * difference * (1 - difference)
    root = math.sqrt(max(linear * linear - 8 * n * constant, 0.0))
    # Of the two forms of the root, the one that does not subtract nearly equal numbers.
    if linear <= 0:
        only_second = (root - linear) / (4 * n)
    else:
        only_second = -2 * constant / (root + linear)
    variance = n * (2 * only_second + difference * (1 - difference))
    distance = b - c - n * difference
    if variance <= 0:
        return 0.0 if distance == 0 else math.copysign(math.inf, distance)
    return distance / math.sqrt(variance)


def tango_interval(pairs: PairedCounts, level: float = 0.95) -> Interval:
    """Tango's score interval: all differences that the score test does not reject.

    Parameters
    ----------
    pairs : PairedCounts
        With at least one item.
    level : float, default 0.95
        Nominal coverage in (0, 1).

    Returns
    -------
    Interval
        Unlike the Wald interval, it has a width even if nothing is discordant.

    Raises
    ------
    ValueError
        If there is no item or `level` is out of range.

    Notes
    -----
    Each end is found by bracketing :func:`tango_statistic`, which falls as the hypothesised
    difference rises, to 1e-15. Without discordant items the ends are
    :math:`\\pm z^2/(n+z^2)`.

    References
    ----------
    .. [1] Tango, Statistics in Medicine 17 (1998), 891-908: 0 and 1 of 44 gives
       [-0.118, 0.059].

    Examples
    --------
    >>> interval = tango_interval(PairedCounts(b=0, c=1, n=44))
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.1181, 0.0594)
    """
    if pairs.n == 0:
        raise ValueError("`pairs` holds no item.")
    low, high = _tango_ends(PairedCounts(pairs.b, pairs.c, pairs.n), level)
    return Interval(low, high, level, "tango", n_items=pairs.n)


# Many annotators with a few dozen items each have the same counts.
@lru_cache(maxsize=4096)
def _tango_ends(pairs: PairedCounts, level: float) -> tuple[float, float]:
    z = normal_quantile(level)
    observed = (pairs.b - pairs.c) / pairs.n

    def root(target: float, low: float, high: float) -> float:
        def excess(difference: float) -> float:
            # Beyond 1e6 only the sign matters, and the root finder cannot take infinity.
            return min(max(tango_statistic(pairs, difference) - target, -1e6), 1e6)

        return root_between(excess, low, high)

    low = -1.0 if observed == -1 else root(z, -1.0, observed)
    high = 1.0 if observed == 1 else root(-z, observed, 1.0)
    return low, high


def wald_interval(pairs: PairedCounts, level: float = 0.95) -> Interval:
    """Wald interval of the paired difference, cut at -1 and 1; only for comparison.

    Parameters
    ----------
    pairs : PairedCounts
        With at least one item.
    level : float, default 0.95
        Nominal coverage in (0, 1).

    Returns
    -------
    Interval

    Raises
    ------
    ValueError
        If there is no item or `level` is out of range.

    Examples
    --------
    >>> interval = wald_interval(PairedCounts(b=25, c=22, n=300))
    >>> round(interval.low, 4), round(interval.high, 4)
    (-0.0348, 0.0548)
    """
    if pairs.n == 0:
        raise ValueError("`pairs` holds no item.")
    half = normal_quantile(level) * wald_standard_error(pairs)
    observed = (pairs.b - pairs.c) / pairs.n
    low, high = max(-1.0, observed - half), min(1.0, observed + half)
    return Interval(low, high, level, "wald", n_items=pairs.n)


def wald_standard_error(pairs: PairedCounts) -> float:
    """Standard error of the paired difference, from its multinomial variance."""
    b, c, n = pairs.b, pairs.c, pairs.n
    return math.sqrt(b + c - (b - c) ** 2 / n) / n
