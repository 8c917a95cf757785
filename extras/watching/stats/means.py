"""Tests by betting that a mean has changed, which stay valid however often one looks."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.core.results import FloatArray

# Possible means, closest together near 0 and 1, where few answers say most.
_NEAR_0 = np.geomspace(0.0005, 0.05, 60)
_MEANS = np.unique(np.concatenate([_NEAR_0, 1 - _NEAR_0, np.linspace(0, 1, 401)]))
# Shares of the money that are staked on one value; the evidence is the mean over all of them.
_STAKES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0])
# The evidence, as a log, that the stakes on a baseline are made for.
_AIM = 6.0
_BEYOND = 1e9


def rise(baseline: npt.ArrayLike, looks: Sequence[npt.ArrayLike]) -> FloatArray:
    r"""Evidence that the mean of new values is above that of a baseline.

    Parameters
    ----------
    baseline : array_like of float, shape (n,)
        Values in [0, 1] from before.
    looks : sequence of array_like of float
        Values in [0, 1] of each look, in order; NaN is missing. A look can have any number of
        values, and any number of looks can follow.

    Returns
    -------
    ndarray of float, shape (looks,)
        The e-value after each look. If nothing changed, it ever reaches :math:`1/\alpha` with a
        probability of at most :math:`\alpha`.

    Raises
    ------
    ValueError
        If a value is not in [0, 1].

    Notes
    -----
    For every possible mean :math:`q`, one player bets that the baseline has a smaller mean, and
    one that the new values have a larger mean, each a fixed share :math:`\kappa` of its money:

    .. math::
        B(q) = \overline{\prod_i 1 - \kappa + \kappa\frac{1 - x_i}{1 - q}}, \quad
        N_t(q) = 1 - \sum_{s \le t} w_s + \sum_{s \le t} w_s
        \overline{\prod_{i \in s..t} 1 - \kappa + \kappa\frac{y_i}{q}}

    with means over :math:`\kappa`, and :math:`w_s = 1/(2s(s+1))` for a change before look
    :math:`s`; what is not staked yet is kept, and half of it always. Half of the money of :math:`B`
    has one stake that depends on the number of values and :math:`q` only: the best one if the
    baseline's mean is just far enough from :math:`q`. At the common mean both are expected to be at
    most 1, also if every item has a mean of its own (inequality of the means), so
    :math:`\min_q B(q) N_t(q)` is an e-process. The minimum is taken over cells with the smaller
    bound of each, so that the grid adds no error. Values have to be independent given their items,
    and each look has to ask all items or a simple random sample of them.

    References
    ----------
    I. Waudby-Smith and A. Ramdas (2024). Estimating means of bounded random variables by betting.
    JRSS B 86(1), 1-27. J. Shin, A. Ramdas and A. Rinaldo (2024). E-detectors. NEJSDS 2(2).
    J. Ville (1939). Étude critique de la notion de collectif.

    Examples
    --------
    >>> before = [0] * 190 + [1] * 10
    >>> same, more = [0] * 95 + [1] * 5, [0] * 80 + [1] * 20
    >>> [bool(e > 20) for e in rise(before, [same, same, more, more, more])]
    [False, False, False, True, True]
    """
    first = _checked(baseline)
    values = [_checked(look) for look in looks]
    before = _log_before(first)
    return np.exp([min(np.min(before[:-1] + now[1:]), 700.0) for now in _rises(values)])


def shift(baseline: npt.ArrayLike, looks: Sequence[npt.ArrayLike]) -> FloatArray:
    """Evidence that the mean of new values is above or below that of a baseline.

    Parameters
    ----------
    baseline, looks : array_like
        As for :func:`rise`.

    Returns
    -------
    ndarray of float, shape (looks,)
        The mean of the evidence for a rise and for a fall after each look.

    Examples
    --------
    >>> bool(shift([0.6, 0.7] * 20, [[0.3, 0.4] * 20])[0] > 20)
    True
    """
    down = rise(1 - _checked(baseline), [1 - _checked(look) for look in looks])
    return np.asarray((rise(baseline, looks) + down) / 2, dtype=np.float64)


def smallest_rise(baseline: npt.ArrayLike, *, enough: float) -> float:
    """The smallest mean that looks can show to be above that of a baseline.

    Parameters
    ----------
    baseline : array_like of float, shape (n,)
        Values in [0, 1], as for :func:`rise`.
    enough : float
        The e-value that shows a rise.

    Returns
    -------
    float
        New values with a smaller mean do not reach `enough`, however many they are; 1 if none does.

    Examples
    --------
    >>> smallest_rise([0] * 570 + [1] * 30, enough=60)
    0.085
    """
    before = _log_before(_checked(baseline))
    # Half of what is not staked is always kept.
    reached = np.flatnonzero(before[:-1] - np.log(2) >= np.log(enough))
    means = _MEANS[reached]
    above = means[means > np.mean(_checked(baseline))] if reached.size else means
    return float(above[0]) if above.size else 1.0


def mean_sequence(
    looks: Sequence[npt.ArrayLike], *, level: float = 0.95
) -> list[tuple[float, float]]:
    """Intervals of the mean of all values so far that hold at every look together.

    Parameters
    ----------
    looks : sequence of array_like of float
        Values in [0, 1] of each look, as for :func:`rise`.
    level : float, default 0.95
        Chance that all intervals contain the mean, if it does not change.

    Returns
    -------
    list of (float, float)
        Lower and upper bound after each look.

    Notes
    -----
    The means :math:`q` against which neither the bet on a larger nor the one on a smaller mean has
    reached :math:`2/(1 - level)`, without a weight for the look of a change.

    References
    ----------
    I. Waudby-Smith and A. Ramdas (2024), as for :func:`rise`.

    Examples
    --------
    >>> [(low, high)] = mean_sequence([[0.5] * 200])
    >>> 0.46 < low < 0.5 < high < 0.54
    True
    """
    limit = np.log(2 / (1 - level))
    up, down = (np.zeros((_MEANS.size, _STAKES.size)) for _ in range(2))
    bounds = []
    low, high = 0, _MEANS.size - 1
    values = [_checked(look) for look in looks]
    for rises, falls in zip(_money(values, _MEANS), _falls(values), strict=True):
        up, down = up + rises, down + falls
        # A mean that was ruled out once stays ruled out; the next one may still be true.
        below = np.flatnonzero(_log_mean(up) >= limit)
        above = np.flatnonzero(_log_mean(down) >= limit)
        low = max(low, int(below.max()) if below.size else 0)
        high = min(high, int(above.min()) if above.size else _MEANS.size - 1)
        bounds.append((float(_MEANS[low]), float(_MEANS[high])))
    return bounds


def _checked(values: npt.ArrayLike) -> FloatArray:
    """The known values. Raises `ValueError` if one is out of range."""
    array = np.asarray(values, dtype=np.float64)
    known = array[~np.isnan(array)]
    if known.size and not (known.min() >= 0 and known.max() <= 1):
        raise ValueError("Values must lie between 0 and 1.")
    return known


def _log_before(values: FloatArray) -> FloatArray:
    """Log evidence of a baseline for a smaller mean, by mean."""
    money = _log_mean(_falls([values])[0])
    if not values.size:
        return money
    enough = _just_below(values.size)
    distinct, counts = np.unique(values, return_counts=True)
    planned = np.full(_MEANS.size, -np.inf)
    # The likelihood ratio of the mean that is just far enough, for values of 0 and 1.
    of_0, of_1 = (1 - enough[1:-1]) / (1 - _MEANS[1:-1]), enough[1:-1] / _MEANS[1:-1]
    factors = of_0 + distinct[:, None] * (of_1 - of_0)
    with np.errstate(divide="ignore"):
        planned[1:-1] = counts @ np.log(factors)
    return np.asarray(np.logaddexp(money, planned) - np.log(2), dtype=np.float64)


def _just_below(n: int) -> FloatArray:
    """For each mean the largest smaller one that `n` values tell apart from it; at least 0."""
    low, high = np.zeros(_MEANS.size), _MEANS.copy()
    for _ in range(40):
        middle = (low + high) / 2
        distance = special.rel_entr(middle, _MEANS) + special.rel_entr(1 - middle, 1 - _MEANS)
        is_far = n * distance >= _AIM
        low, high = np.where(is_far, middle, low), np.where(is_far, high, middle)
    return low


def _falls(looks: Sequence[FloatArray]) -> FloatArray:
    """Log money by look, mean and stake of those who bet on a smaller mean."""
    return _money([1 - values for values in looks], 1 - _MEANS)


def _money(looks: Sequence[FloatArray], means: FloatArray) -> FloatArray:
    """Log money by look, mean and stake of those who bet on a mean above each of `means`."""
    distinct, place = np.unique(np.concatenate([[], *looks]), return_inverse=True)
    sizes = [values.size for values in looks]
    counts = np.zeros((len(looks), distinct.size))
    np.add.at(counts, (np.repeat(np.arange(len(looks)), sizes), place), 1)
    # A mean of 0 contradicts every larger value, and says nothing about values of 0.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(
            means > 0, distinct[:, None] / means, np.where(distinct[:, None] > 0, np.inf, 1.0)
        )
        logs = np.log(1 - _STAKES + _STAKES * ratio[:, :, None])
    # Who has lost everything, or has proof, is so far away that more values change nothing.
    logs = np.clip(logs, -_BEYOND, _BEYOND).reshape(distinct.size, means.size * _STAKES.size)
    money = counts @ logs
    return np.asarray(money.reshape(len(looks), means.size, _STAKES.size), dtype=np.float64)


def _rises(looks: Sequence[FloatArray]) -> list[FloatArray]:
    """Log evidence for a larger mean after each look, by mean, for a change before any look."""
    begun = np.full((_MEANS.size, _STAKES.size), -np.inf)
    after, number = [], 0
    evidence = np.zeros(_MEANS.size)
    for values, gain in zip(looks, _money(looks, _MEANS), strict=True):
        if values.size:
            number += 1
            begun = np.logaddexp(begun, -np.log(2 * number * (number + 1))) + gain
            kept = 0.5 + 0.5 / (number + 1)
            evidence = np.logaddexp(_log_mean(begun), np.log(kept))
        after.append(evidence)
    return after


def _log_mean(logs: FloatArray) -> FloatArray:
    """Log of the mean over the stakes."""
    return np.asarray(np.logaddexp.reduce(logs, axis=-1) - np.log(_STAKES.size), dtype=np.float64)
