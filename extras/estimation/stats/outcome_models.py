"""What people would answer, learned from a judge's signal, each fold from the other folds."""

from collections.abc import Callable

import numpy as np
from scipy import optimize

from analysis.stats.core.results import BoolArray, FloatArray, IntArray

Fit = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def isotonic(x: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    """Values at `at` of the increasing function with the least squares; constant outside of `x`.

    Examples
    --------
    >>> isotonic(np.array([0.1, 0.5, 0.9]), np.array([0.4, 0.2, 1.0]), np.array([0.3, 0.95]))
    array([0.3, 1. ])
    """
    distinct, group = np.unique(x, return_inverse=True)
    weight = np.bincount(group).astype(np.float64)
    fitted = optimize.isotonic_regression(np.bincount(group, weights=y) / weight, weights=weight).x
    return np.asarray(np.interp(at, distinct, fitted), dtype=np.float64)


def logistic(x: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    """Values at `at` of a logistic curve of the log odds of `x`, by maximum likelihood.

    A small ridge keeps the slope finite where the answers separate.
    """

    def log_odds(values: FloatArray) -> FloatArray:
        share = np.clip(values, 0.01, 0.99)
        return np.asarray(np.log(share / (1 - share)), dtype=np.float64)

    design = np.column_stack([np.ones(x.size), log_odds(x)])
    ridge = np.diag([1e-6, 1e-2])
    found = np.zeros(2)
    for _ in range(50):
        p = _sigmoid(design @ found)
        gradient = design.T @ (y - p) - ridge @ found
        hessian = (design.T * np.maximum(p * (1 - p), 1e-6)) @ design + ridge
        step = np.clip(np.linalg.solve(hessian, gradient), -2, 2)
        found = found + step
        if np.abs(step).max() < 1e-9:
            break
    return _sigmoid(found[0] + found[1] * log_odds(at))


def cross_fitted(
    fit: Fit, target: FloatArray, signal: FloatArray, known: BoolArray, folds: IntArray
) -> FloatArray:
    """Each item's prediction by a curve that its own fold had no part in, shape (n_items,)."""
    found = np.empty(target.size)
    for fold in np.unique(folds):
        held_out = folds == fold
        learned = known & ~held_out
        if not learned.any():
            learned = known
        found[held_out] = fit(signal[learned], target[learned], signal[held_out])
    return found


def _sigmoid(score: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1 + np.tanh(score / 2)), dtype=np.float64)
