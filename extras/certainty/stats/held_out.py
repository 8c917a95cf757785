"""Thresholds and corrections of certainty, chosen on some items and measured on others."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy

from analysis.stats.certainty.calibration import isotonic, usable_answers
from analysis.stats.core.proportions import EMPTY, wilson_proportion
from analysis.stats.core.results import (
    FloatArray,
    IntArray,
    Proportion,
    Reason,
    check_level,
    distinct_values,
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


Method = Literal["isotonic", "logistic"]


@dataclass(frozen=True)
class Recalibration:
    """Brier score of certainty before and after a cross-fitted correction.

    Attributes
    ----------
    raw, recalibrated : float or None
        Brier score of the stated certainty, and of the corrected one.
    base_rate : float or None
        Brier score of a constant, the share of right answers in the other folds: certainty
        should be better.
    method : str
        ``"isotonic"`` or ``"logistic"``.
    n, n_missing : int
        Answers used and left out.
    reason : str or None
        ``"empty_group"``, ``"too_few_items"`` if a fold has nothing to learn from, or
        ``"no_variation"`` if all answers are right or all are wrong.
    """

    raw: float | None
    recalibrated: float | None
    base_rate: float | None
    method: Method
    n: int
    n_missing: int
    reason: Reason | None = None


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


def recalibrate(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    folds: npt.ArrayLike,
    *,
    method: Method = "isotonic",
) -> Recalibration:
    r"""Brier score after correcting certainty with the other folds.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    folds : array_like of int, shape (n,)
        Fold of each answer, for example of :func:`folds_by_key`; answers about one item must
        share a fold, otherwise the correction is not out of sample.
    method : {"isotonic", "logistic"}, default "isotonic"
        An increasing function, or a logistic curve on the log odds of certainty.

    Returns
    -------
    Recalibration

    Raises
    ------
    ValueError
        If the arrays do not fit or the method is unknown.

    Notes
    -----
    Isotonic: least squares under monotonicity on distinct certainties, linear between them and
    constant outside, cut to [0, 1]. Logistic: :math:`P(right)=\sigma(a+b\,logit(c))` by maximum
    likelihood with :math:`c` cut to [0.001, 0.999]; a ridge of 1e-6 on :math:`b` keeps it finite
    where the classes separate.

    References
    ----------
    .. [1] Zadrozny and Elkan, KDD 2002 (isotonic); Platt, 1999 (logistic).

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> certainty = rng.integers(1, 101, 400).astype(float)
    >>> correct = (rng.random(400) < 0.5 + certainty / 400).astype(int)  # too certain at the top
    >>> result = recalibrate(certainty, correct, np.arange(400) % 5)
    >>> result.recalibrated < result.raw
    True
    """
    if method not in get_args(Method):
        raise ValueError(f"`method` must be one of {', '.join(get_args(Method))}.")
    fold = np.asarray(folds, dtype=np.int64)
    values, right = np.asarray(certainty, dtype=np.float64), np.asarray(correct, dtype=np.int64)
    if fold.shape != values.shape:
        raise ValueError(f"`folds` has shape {fold.shape}, `certainty` has {values.shape}.")
    usable = ~np.isnan(values) & (right >= 0)
    values, right, n_missing = usable_answers(values, right)
    fold = fold[usable]
    n = int(values.size)
    reason: Reason | None = None
    if n == 0:
        reason = "empty_group"
    elif right.min() == right.max():
        reason = "no_variation"
    elif np.unique(fold).size < 2:
        reason = "too_few_items"
    if reason:
        return Recalibration(None, None, None, method, n, n_missing, reason)

    corrected, constant = np.empty(n), np.empty(n)
    fit = isotonic if method == "isotonic" else _logistic
    for part in np.unique(fold):
        held_out = fold == part
        corrected[held_out] = fit(values[~held_out], right[~held_out], values[held_out])
        constant[held_out] = right[~held_out].mean()
    return Recalibration(
        raw=_brier(values / 100, right),
        recalibrated=_brier(corrected, right),
        base_rate=_brier(constant, right),
        method=method,
        n=n,
        n_missing=n_missing,
    )


def _brier(confidence: FloatArray, right: IntArray) -> float:
    return float(np.mean((confidence - right) ** 2))


def _logistic(x: FloatArray, y: IntArray, at: FloatArray) -> FloatArray:
    """Values at `at` of the logistic curve fitted to `x` and `y`."""
    # Answers of equal certainty have the same terms.
    distinct, group = distinct_values(x)
    design = _log_odds(distinct)
    share = np.bincount(group) / x.size
    target = np.bincount(group, weights=y) / x.size

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        score = parameters[0] + parameters[1] * design
        excess = share * _sigmoid(score) - target
        ridge = 1e-6 * parameters[1]
        value = share @ np.logaddexp(0, score) - target @ score + ridge * parameters[1] / 2
        return float(value), np.array([excess.sum(), excess @ design + ridge])

    a, b = scipy.optimize.minimize(loss, np.array([0.0, 1.0]), jac=True, method="BFGS").x
    return _sigmoid(a + b * _log_odds(at))


def _log_odds(certainty: FloatArray) -> FloatArray:
    share = np.clip(certainty / 100, 0.001, 0.999)
    return np.asarray(np.log(share / (1 - share)), dtype=np.float64)


def _sigmoid(score: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1 + np.tanh(score / 2)), dtype=np.float64)
