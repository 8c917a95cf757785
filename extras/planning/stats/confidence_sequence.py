"""Intervals of a mean that stay valid if you look after every observation."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.core.results import FloatArray, check_level

# Tolerance of the search for an end, as a share of the range.
PRECISION = 1e-7
# No bet risks more than this share of the capital. Means of many answers vary little, so large bets
# pay off: intervals of 30 observations are about a third narrower than with one half.
MOST = 0.9


@dataclass(frozen=True, eq=False)
class ConfidenceSequence:
    """Simultaneous intervals, one after each observation.

    Attributes
    ----------
    low, high : ndarray of float, shape (n,)
        Ends after 1, 2, … observations; they never widen.
    level : float
        Probability that none of the intervals excludes the mean.
    n : int
        Observations.
    """

    low: FloatArray
    high: FloatArray
    level: float

    @property
    def n(self) -> int:
        return self.low.size


def confidence_sequence(
    values: npt.ArrayLike, *, low: float = -1.0, high: float = 1.0, level: float = 0.95
) -> ConfidenceSequence:
    r"""Confidence sequence for the mean of bounded observations, by hedged betting.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        Observations in order of arrival, each with the same mean given the earlier ones.
    low, high : float, default -1 and 1
        Bounds of every observation.
    level : float, default 0.95

    Returns
    -------
    ConfidenceSequence

    Raises
    ------
    ValueError
        If an observation is outside the bounds.

    Notes
    -----
    With observations scaled to [0, 1], a mean m is excluded once one of the capitals
    :math:`\tfrac12\prod_i(1\pm\lambda_i^{\pm}(m)(x_i-m))` reaches :math:`1/(1-\text{level})`. The
    bet is :math:`\lambda_i=\sqrt{2\log(2/\alpha)/(\hat\sigma^2_{i-1}\,i\log(i+1))}` from the
    observations before i, at most .9 of :math:`1/m` or :math:`1/(1-m)`. Half the sum of both
    capitals is a non-negative martingale for the true mean, so by Ville's inequality the
    probability that it is ever excluded is at most :math:`\alpha`, however often you look. Ends are
    found by bisection and rounded outwards.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by
       betting", Journal of the Royal Statistical Society B 86 (2024), 1-27.

    Examples
    --------
    >>> found = confidence_sequence([0.2, 0.1, 0.3, 0.2] * 10)
    >>> found.n, round(float(found.low[-1]), 2), round(float(found.high[-1]), 2)
    (40, 0.08, 0.28)
    >>> confidence_sequence([]).n
    0
    """
    check_level(level)
    observed = np.asarray(values, dtype=np.float64)
    if observed.ndim != 1 or not low < high:
        raise ValueError("`values` must have one dimension, and `low` must be below `high`.")
    if observed.size and not (low <= observed.min() and observed.max() <= high):
        raise ValueError(f"`values` must lie in [{low}, {high}].")
    x = (observed - low) / (high - low)
    bets = _bets(x, 1 - level)
    target = np.log(2 / (1 - level))
    below = _lower_ends(x, bets, target)
    above = 1 - _lower_ends(1 - x, bets, target)
    return ConfidenceSequence(low + (high - low) * below, low + (high - low) * above, level)


def _bets(x: FloatArray, alpha: float) -> FloatArray:
    """The bet on each observation, from the earlier ones."""
    n = x.size
    t = np.arange(1, n + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]]) if n else variance
    bets: FloatArray = np.sqrt(2 * np.log(2 / alpha) / (before * t * np.log(t + 1)))
    return bets


def _lower_ends(x: FloatArray, bets: FloatArray, target: float) -> FloatArray:
    """After each observation, the largest mean below which all means are excluded."""
    lower, end = np.zeros(x.size), 0.0
    for n in range(1, x.size + 1):
        end = _raised(x[:n], bets[:n], target, end)
        lower[n - 1] = end
    return lower


def _raised(x: FloatArray, bets: FloatArray, target: float, start: float) -> float:
    """The lower end after these observations, given that it was `start` before the last.

    Capital falls as m rises, so the excluded means are those below one point.
    """
    if _log_capital(x, bets, start + PRECISION) < target:
        return start
    low, high = start + PRECISION, 1.0
    while high - low > PRECISION:
        middle = (low + high) / 2
        if _log_capital(x, bets, middle) >= target:
            low = middle
        else:
            high = middle
    return low


def _log_capital(x: FloatArray, bets: FloatArray, m: float) -> float:
    staked = np.minimum(bets, MOST / m)
    return float(np.log1p(staked * (x - m)).sum())
