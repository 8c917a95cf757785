"""A sparse logistic model of choices by rules, and how many held-out choices it reconstructs."""

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from analysis.stats.core.results import FloatArray, IntArray

FOLDS = 5
# Penalties, as shares of the smallest one at which no rule has a weight.
PENALTIES = (0.5, 0.25, 0.12, 0.06, 0.03, 0.015)
_STEPS, _CLOSE = 400, 1e-7


def sparse_weights(
    signs: npt.ArrayLike, chosen: npt.ArrayLike, n: npt.ArrayLike, penalty: float
) -> FloatArray:
    r"""Weights of rules in a logistic model of choices, most of them 0.

    Parameters
    ----------
    signs : array_like of float, shape (n_items, n_rules)
        1 where a rule favours response 0, -1 for response 1, 0 for neither.
    chosen : array_like of float, shape (n_items,)
        Share of the answers for response 0.
    n : array_like of float, shape (n_items,)
        Number of these answers.
    penalty : float
        Of the sum of absolute weights, as a share of the smallest penalty at which all are 0.

    Returns
    -------
    ndarray of float, shape (n_rules,)

    Notes
    -----
    Minimises the mean negative log-likelihood of :math:`\operatorname{logit}p_i=x_i'\beta` plus
    :math:`\lambda\sum|\beta|`, by accelerated proximal gradients [1]_. There is no intercept: with
    responses in the other order, the same model must give the opposite choice.

    References
    ----------
    .. [1] A. Beck and M. Teboulle, "A Fast Iterative Shrinkage-Thresholding Algorithm for Linear
       Inverse Problems", SIAM Journal on Imaging Sciences 2(1), 2009.

    Examples
    --------
    >>> signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]] * 10)
    >>> sparse_weights(signs, [0.9, 0.9, 0.1, 0.1] * 10, [2] * 40, 0.1).round(2).tolist()
    [1.82, 0.0]
    """
    x, y = np.asarray(signs, dtype=np.float64), np.asarray(chosen, dtype=np.float64)
    share = np.asarray(n, dtype=np.float64)
    share = share / max(share.sum(), 1.0)
    weights = np.zeros(x.shape[1])
    curvature = float(np.linalg.norm(x.T * share @ x, 2)) / 4 if x.size else 0.0
    if curvature <= 0:
        return weights
    most = float(np.abs(x.T @ (share * (y - 0.5))).max()) * penalty
    ahead, pace = weights, 1.0
    for _ in range(_STEPS):
        slope = x.T @ (share * (expit(x @ ahead) - y))
        moved = ahead - slope / curvature
        new = np.sign(moved) * np.maximum(np.abs(moved) - most / curvature, 0.0)
        faster = (1 + (1 + 4 * pace**2) ** 0.5) / 2
        ahead, pace = new + (pace - 1) / faster * (new - weights), faster
        step, weights = float(np.abs(new - weights).max()), new
        if step < _CLOSE:
            break
    return weights


def reconstructed_choices(
    signs: npt.ArrayLike, chosen: npt.ArrayLike, n: npt.ArrayLike, fold: npt.ArrayLike
) -> FloatArray:
    """The choice that the rules predict for each item, from the other folds.

    Parameters
    ----------
    signs, chosen, n
        As for `sparse_weights`; items with `n` of 0 are predicted, and not learned from.
    fold : array_like of int, shape (n_items,)
        Items of one fold are never used to predict each other; items of one persona belong to one.

    Returns
    -------
    ndarray of float, shape (n_items,)
        1 for response 0, 0 for response 1, and one half where the rules say nothing.

    Notes
    -----
    The penalty of each fold's model is the one with the best likelihood when each of the remaining
    folds is predicted from the others.

    Examples
    --------
    >>> signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1], [0, 0]] * 10)
    >>> found = reconstructed_choices(signs, [1, 1, 0, 0, 0] * 10, [1] * 50, np.arange(50) // 10)
    >>> found[:5].tolist()
    [1.0, 1.0, 0.0, 0.0, 0.5]
    """
    x, y = np.asarray(signs, dtype=np.float64), np.asarray(chosen, dtype=np.float64)
    answers, folds = np.asarray(n, dtype=np.float64), np.asarray(fold, dtype=np.int64)
    y = np.where(answers > 0, y, 0.5)
    choices = np.full(y.size, 0.5)
    for held_out in np.unique(folds):
        inside = folds == held_out
        rest = ~inside
        penalty = _best_penalty(x[rest], y[rest], answers[rest], folds[rest])
        score = x[inside] @ sparse_weights(x[rest], y[rest], answers[rest], penalty)
        choices[inside] = np.where(np.abs(score) < _CLOSE, 0.5, score > 0)
    return choices


def _best_penalty(x: FloatArray, y: FloatArray, n: FloatArray, folds: IntArray) -> float:
    losses = np.zeros(len(PENALTIES))
    for held_out in np.unique(folds):
        inside = folds == held_out
        for place, penalty in enumerate(PENALTIES):
            weights = sparse_weights(x[~inside], y[~inside], n[~inside], penalty)
            score = x[inside] @ weights
            loss = np.logaddexp(0, -score) * y[inside] + np.logaddexp(0, score) * (1 - y[inside])
            losses[place] += float(n[inside] @ loss)
    return PENALTIES[int(losses.argmin())]
