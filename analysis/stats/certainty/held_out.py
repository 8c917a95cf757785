"""Thresholds chosen on some items and measured on others, and thresholds that no answer has."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.certainty.calibration import usable_answers
from analysis.stats.certainty.risk_coverage import threshold_sweep
from analysis.stats.core.checks import check_level
from analysis.stats.core.proportions import EMPTY, wilson_proportion
from analysis.stats.core.results import Proportion, Reason


@dataclass(frozen=True)
class HeldOutThreshold:
    """Accuracy at a threshold that was chosen on other items.

    Attributes
    ----------
    threshold : float or None
        The lowest certainty that reached the target on the choosing items.
    chosen_on, measured_on : Proportion
        Accuracy at or above it, there and on the held-out items. Only the second is unbiased.
    coverage : float or None
        Share of the held-out answers that it accepts.
    n_choosing, n_held_out : int
        Answers of both parts.
    reason : str or None
        Why `threshold` is None: ``"empty_group"`` if a part has no answers,
        ``"not_certified"`` if no certainty reaches the target.
    """

    threshold: float | None
    chosen_on: Proportion
    measured_on: Proportion
    coverage: float | None
    n_choosing: int
    n_held_out: int
    reason: Reason | None = None


def held_out_threshold(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    held_out: npt.ArrayLike,
    *,
    target: float,
    min_n: int = 30,
    level: float = 0.95,
) -> HeldOutThreshold:
    """Choose the lowest threshold that reaches an accuracy on one part, and measure it on another.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    held_out : array_like of bool, shape (n,)
        Rows not used to choose, for example ``folds_by_key(keys, 2) == 1``. Answers about one
        item, and preferably about one persona, must be in one part.
    target : float
        Accuracy in (0, 1] that the accepted answers of the choosing part must reach.
    min_n : int, default 30
        Accepted answers that a threshold needs there: fewer may reach any target by luck.
    level : float, default 0.95
        Of the Wilson intervals.

    Returns
    -------
    HeldOutThreshold
        The chosen threshold need not reach the target on the held-out part, and usually falls a
        little short of it. A threshold that is read off a table hides this gap.

    Raises
    ------
    ValueError
        If the arrays do not fit or a number is out of range.

    Notes
    -----
    This is an unbiased estimate, not a guarantee.

    Examples
    --------
    >>> certainty, correct = [90, 80, 80, 60] * 20, [1, 1, 0, 0] * 20
    >>> result = held_out_threshold(certainty, correct, [False] * 40 + [True] * 40, target=0.6)
    >>> result.threshold, result.measured_on.correct, result.measured_on.n, result.coverage
    (80.0, 20, 30, 0.75)
    """
    check_level(level)
    if not 0 < target <= 1:
        raise ValueError(f"`target` must lie in (0, 1], got {target}.")
    values, right = np.asarray(certainty, dtype=np.float64), np.asarray(correct, dtype=np.int64)
    apart = np.asarray(held_out, dtype=np.bool_)
    if apart.shape != values.shape:
        raise ValueError(f"`held_out` has {apart.size} rows, `certainty` has {values.size}.")
    certainty_1, right_1, _ = usable_answers(values[~apart], right[~apart])
    certainty_2, right_2, _ = usable_answers(values[apart], right[apart])
    n_1, n_2 = int(certainty_1.size), int(certainty_2.size)

    def none(reason: Reason) -> HeldOutThreshold:
        return HeldOutThreshold(None, EMPTY, EMPTY, None, n_1, n_2, reason)

    if n_1 == 0 or n_2 == 0:
        return none("empty_group")
    reached = [
        point.threshold
        for point in threshold_sweep(certainty_1, right_1)
        if point.accuracy.n >= min_n and point.accuracy.correct >= target * point.accuracy.n - 1e-9
    ]
    if not reached:
        return none("not_certified")
    threshold = min(reached)
    accepted = certainty_2 >= threshold
    return HeldOutThreshold(
        threshold=threshold,
        chosen_on=wilson_proportion(right_1[certainty_1 >= threshold], level=level),
        measured_on=wilson_proportion(right_2[accepted], level=level),
        coverage=float(accepted.mean()),
        n_choosing=n_1,
        n_held_out=n_2,
    )


def unreachable_thresholds(
    certainty: npt.ArrayLike, correct: npt.ArrayLike, *, low: int = 1, high: int = 100
) -> tuple[int, ...]:
    """List the whole certainties that no answer has.

    At such a threshold "at least" and "above" accept the same answers, those of the next
    higher certainty that occurs. The data cannot show which of the two a study meant.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    low, high : int, default 1 and 100
        First and last point of the scale.

    Returns
    -------
    tuple of int
        Ascending; empty if nothing could be used.

    Raises
    ------
    ValueError
        If the arrays do not fit or a value is out of range.

    Examples
    --------
    >>> unreachable_thresholds([90, 80, 86.5], [1, 0, 1], low=79, high=91)
    (79, 81, 82, 83, 84, 85, 86, 87, 88, 89, 91)
    """
    values, _, _ = usable_answers(certainty, correct)
    if values.size == 0:
        return ()
    reached = set(values.tolist())
    return tuple(tau for tau in range(low, high + 1) if tau not in reached)
