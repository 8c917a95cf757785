"""The draw of the two systems that meet next."""

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.core.results import FloatArray

_PRIOR_VARIANCE = 2.0  # of a strength: seven in ten systems win 20 to 80 % against an average one
_STEPS = 30
# With less, who seems to be ahead meets others too rarely, and looks stronger than it is.
UNIFORM = 0.5


def pair_chances(
    wins: npt.ArrayLike, ties: npt.ArrayLike, waiting: npt.ArrayLike, *, uniform: float = UNIFORM
) -> FloatArray:
    r"""Probability of each pair of systems to meet next.

    Parameters
    ----------
    wins : array_like of float, shape (n, n)
        How often a system won against another.
    ties, waiting : array_like of float, shape (n, n)
        Ties, and contests that are not decided yet; symmetric.
    uniform : float
        Share of the draws that is the same for every pair.

    Returns
    -------
    ndarray of float, shape (n, n)
        Above the diagonal, with sum 1; 0 elsewhere.

    Notes
    -----
    Strengths have a normal prior, so that they exist from the first contest; a tie is half a win
    for both. With d the difference of two strengths at their most likely values and v its variance
    (Laplace's approximation, in which a waiting contest counts half), the weight of a pair is
    :math:`\sqrt v\,\Phi(-|d|/\sqrt v)`: what is lost on average, up to a factor, by ordering two
    systems wrongly. The prior serves the draw only; the ranking is estimated without it.

    Examples
    --------
    >>> wins = np.array([[0, 20, 9], [20, 0, 9], [1, 1, 0]])  # two alike, and a weaker one
    >>> pair_chances(wins, np.zeros((3, 3)), np.zeros((3, 3))).round(2).tolist()
    [[0.0, 0.66, 0.17], [0.0, 0.0, 0.17], [0.0, 0.0, 0.0]]
    """
    won = np.asarray(wins, dtype=np.float64) + np.asarray(ties, dtype=np.float64) / 2
    decided, n = won + won.T, len(won)
    if n < 2:
        raise ValueError("A draw needs two systems.")
    strength = np.zeros(n)
    for _ in range(_STEPS):
        expected = special.expit(strength[:, None] - strength)
        gradient = (won - decided * expected).sum(axis=1) - strength / _PRIOR_VARIANCE
        step = np.linalg.solve(_information(decided, expected), gradient)
        # The posterior is concave; a bounded step cannot jump over its top forever.
        strength = strength + np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-9:
            break
    expected = special.expit(strength[:, None] - strength)
    games = decided + np.asarray(waiting, dtype=np.float64) / 2
    covariance = np.linalg.inv(_information(games, expected))
    own = np.diag(covariance)
    deviation = np.sqrt(own[:, None] + own - 2 * covariance)
    above = np.triu_indices(n, 1)
    apart = np.abs(strength[:, None] - strength)[above]
    weight = deviation[above] * special.ndtr(-apart / deviation[above])
    chances = np.zeros((n, n))
    chances[above] = uniform / weight.size + (1 - uniform) * weight / weight.sum()
    return chances


def _information(games: FloatArray, expected: FloatArray) -> FloatArray:
    between = games * expected * (1 - expected)
    n = len(games)
    return np.asarray(np.diag(between.sum(axis=1) + 1 / _PRIOR_VARIANCE) - between).reshape(n, n)
