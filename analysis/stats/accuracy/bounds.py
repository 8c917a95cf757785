"""Bounds for what excluded answers could change."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from analysis.stats.core.checks import check_level, known_rows
from analysis.stats.core.proportions import wilson_interval
from analysis.stats.core.results import Interval, Reason


@dataclass(frozen=True)
class AccuracyBounds:
    """Smallest and largest accuracy that the excluded answers allow.

    Attributes
    ----------
    value : float or None
        Accuracy of the answers that count; None if there are none.
    low, high : float or None
        Accuracy if every excluded answer were wrong, and if every one were right.
    interval : Interval or None
        From Wilson's lower end at `low` to Wilson's upper end at `high`: it covers the accuracy
        over all answers, whatever the excluded ones were.
    by_reason : mapping of str to tuple of float
        The two ends if only the answers excluded for that reason are filled in.
    n, n_excluded : int
        Answers that count, and those that do not.
    reason : str or None
        ``"empty_group"`` if there is no answer at all, so that the ends are None.
    """

    value: float | None
    low: float | None
    high: float | None
    interval: Interval | None
    by_reason: Mapping[str, tuple[float, float]]
    n: int
    n_excluded: int
    reason: Reason | None = None


@dataclass(frozen=True)
class DifferenceBounds:
    """Smallest and largest paired difference that missing answers allow.

    Attributes
    ----------
    value : float or None
        Difference over the items that both sides answered.
    low, high : float or None
        Over all items: with every missing answer against the first side, and in its favour.
    sign_holds : bool or None
        Whether both ends have the same sign as `value`: exclusions cannot have caused
        the direction of the difference.
    n, n_excluded : int
        Items with both, and with at least one missing.
    reason : str or None
        ``"empty_group"`` if no item has both.
    """

    value: float | None
    low: float | None
    high: float | None
    sign_holds: bool | None
    n: int
    n_excluded: int
    reason: Reason | None = None


def accuracy_bounds(
    correct: int, n: int, excluded: Mapping[str, int], *, level: float = 0.95
) -> AccuracyBounds:
    r"""Bound the accuracy: with all excluded answers wrong, and with all of them right.

    Parameters
    ----------
    correct, n : int
        Right answers, and answers that count.
    excluded : mapping of str to int
        Answers left out, by reason: unparseable, tied, skipped and so on. Do not include
        answers without a truth: they could not be right or wrong.
    level : float, default 0.95

    Returns
    -------
    AccuracyBounds

    Raises
    ------
    ValueError
        If a count is negative or `correct` exceeds `n`.

    Notes
    -----
    :math:`\left[\frac{k}{n+m},\frac{k+m}{n+m}\right]` with m answers excluded. No assumption is
    made about them; that they resemble the others is what the accuracy itself assumes.

    References
    ----------
    .. [1] C. F. Manski, "Nonparametric Bounds on Treatment Effects", American Economic Review
       80(2), 1990.

    Examples
    --------
    >>> result = accuracy_bounds(60, 90, {"unparseable": 8, "tie": 2})
    >>> round(result.value, 3), result.low, result.high
    (0.667, 0.6, 0.7)
    """
    check_level(level)
    if not 0 <= correct <= n or min(excluded.values(), default=0) < 0:
        raise ValueError(f"Counts out of range: {correct} of {n}, excluded {dict(excluded)}.")
    m = sum(excluded.values())
    if n + m == 0:
        return AccuracyBounds(None, None, None, None, MappingProxyType({}), 0, 0, "empty_group")
    worst = wilson_interval(correct, n + m, level=level)
    best = wilson_interval(correct + m, n + m, level=level)
    interval = None
    if worst is not None and best is not None:
        interval = Interval(worst.low, best.high, level, "wilson, excluded wrong to right", n + m)
    return AccuracyBounds(
        value=correct / n if n else None,
        low=correct / (n + m),
        high=(correct + m) / (n + m),
        interval=interval,
        by_reason=MappingProxyType(
            {
                name: (correct / (n + size), (correct + size) / (n + size))
                for name, size in excluded.items()
                if size
            }
        ),
        n=n,
        n_excluded=m,
    )


def difference_bounds(first_right: npt.ArrayLike, second_right: npt.ArrayLike) -> DifferenceBounds:
    """Bound the paired difference, with missing answers against each side in turn.

    Parameters
    ----------
    first_right, second_right : array_like of int, shape (n_items,)
        1 right, 0 wrong, -1 missing, of the same items. Leave out items without a truth.

    Returns
    -------
    DifferenceBounds

    Raises
    ------
    ValueError
        If the shapes differ or a value is out of range.

    Notes
    -----
    For `low`, a missing answer of the first side is wrong and one of the second right; for
    `high` the reverse.

    Examples
    --------
    >>> result = difference_bounds([1, 1, 1, 0, -1], [0, 1, 0, 0, 1])
    >>> result.value, result.low, result.high, result.sign_holds
    (0.5, 0.2, 0.4, True)
    """
    (first, known_1), (second, known_2) = known_rows(first_right), known_rows(second_right)
    if first.shape != second.shape:
        raise ValueError(f"The two sides differ in length: {first.size} and {second.size}.")
    both = known_1 & known_2
    n, n_excluded = int(both.sum()), int(np.sum(~both))
    if n == 0:
        return DifferenceBounds(None, None, None, None, 0, n_excluded, "empty_group")
    value = float(np.mean(first[both] - second[both]))
    low = float(np.mean(np.where(known_1, first, 0) - np.where(known_2, second, 1)))
    high = float(np.mean(np.where(known_1, first, 1) - np.where(known_2, second, 0)))
    sign_holds = bool((value > 0 and low > 0) or (value < 0 and high < 0))
    return DifferenceBounds(value, low, high, sign_holds, n, n_excluded)
