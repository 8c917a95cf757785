"""Thresholds of certainty, chosen on some items and measured on others."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.certainty.calibration import usable_answers
from analysis.stats.core.proportions import EMPTY, wilson_proportion
from analysis.stats.core.results import (
    IntArray,
    Proportion,
    Reason,
    check_level,
)
from extras.certainty.stats.sweep import threshold_sweep


@dataclass(frozen=True)
class HeldOutThreshold:
    """Accuracy at a threshold that was chosen on other items.

    Attributes
    ----------
    threshold : float or None
        The lowest certainty that reached the target on the choosing items.
    chosen_on, measured_on : Proportion
        Accuracy at or above it, on the choosing and on the held-out items. Only the second is
        unbiased.
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
        Accepted answers that a threshold needs there; fewer may reach the target by luck.
    level : float, default 0.95
        Of the Wilson intervals.

    Returns
    -------
    HeldOutThreshold
        The chosen threshold need not reach the target on the held-out part, and usually falls a
        little short of it. A threshold read from a table hides this gap.

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


def folds_by_key(keys: Sequence[str], n_folds: int = 5) -> IntArray:
    """Assign each item to a fold by a hash of its key.

    The fold does not depend on the order of the rows, and all answers about one item share it.

    Parameters
    ----------
    keys : sequence of str, length n
        Key of the item of each answer.
    n_folds : int, default 5

    Returns
    -------
    ndarray of int, shape (n,)
        Codes ``0..n_folds-1``.

    Examples
    --------
    >>> folds = folds_by_key(["a", "b", "a"])
    >>> folds[0] == folds[2]
    np.True_
    """
    if n_folds < 2:
        raise ValueError(f"`n_folds` must be at least 2, got {n_folds}.")
    digest = {key: hashlib.sha256(key.encode()).digest()[:8] for key in set(keys)}
    digests = b"".join(map(digest.__getitem__, keys))
    return (np.frombuffer(digests, dtype=">u8") % n_folds).astype(np.int64)
