"""Strengths of systems that meet in pairs: Bradley and Terry's model, with ties Davidson's."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.results import BoolArray, Estimate, FloatArray, Reason, check_level
from ..core.shared_variance import Sharing
from .win_rates import TIE, Contests, linearised, margins

_STEPS, _HALVINGS, _TOLERANCE = 100, 40, 1e-9


@dataclass(frozen=True)
class Strengths:
    """Strength of every system.

    Attributes
    ----------
    n, n_ties : int
        Contests, and ties among them.
    strengths : tuple of Estimate
        Natural logarithms, with mean 0.
    tie : Estimate
        Logarithm of Davidson's parameter; undefined (``"empty_group"``) without ties.
    reason : str or None
        Why every strength is None: ``"too_few_items"`` with fewer than two systems that meet,
        ``"not_connected"`` if some systems never lose to, or never meet, the others.
    """

    n: int
    n_ties: int
    strengths: tuple[Estimate, ...]
    tie: Estimate
    reason: Reason | None = None


@dataclass(frozen=True, eq=False)
class Fits:
    """Maximum likelihood estimates for several tables of results.

    Attributes
    ----------
    strength : ndarray of float, shape (n_tables, n_systems)
        Centred; NaN without an estimate.
    log_tie : ndarray of float, shape (n_tables,)
        -inf without ties, NaN without an estimate.
    """

    strength: FloatArray
    log_tie: FloatArray

    @property
    def is_defined(self) -> BoolArray:
        return np.asarray(~np.isnan(self.strength).any(axis=1))


def system_strengths(
    contests: Contests, choice: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95
) -> Strengths:
    r"""Strengths by maximum likelihood, with intervals for items that share personas or people.

    Parameters
    ----------
    contests : Contests
        All systems are part of the model.
    choice : array_like of int, shape (n_items,)
        0 first response, 1 second response, 2 a tie, -1 missing.
    sharing : Sharing
        What the items share, one row per item.
    level : float, default 0.95

    Returns
    -------
    Strengths

    Notes
    -----
    :math:`P(i\succ j)\propto e^{(\beta_i-\beta_j)/2}`, :math:`P(j\succ i)\propto
    e^{-(\beta_i-\beta_j)/2}` and :math:`P(i\sim j)\propto\nu` [2]_; without ties this is Bradley
    and Terry's :math:`P(i\succ j)=1/(1+e^{\beta_j-\beta_i})` [1]_. Newton's method, with steps that
    are halved until the likelihood increases. The estimate is finite and unique if a chain of
    strict wins leads from every system to every other [3]_; otherwise it is undefined. With ties
    this is sufficient, not necessary. Intervals are those of the linearised estimate,
    :math:`H^{-1}` times the scores of the contests, with the variance of `Sharing.spread`.

    References
    ----------
    .. [1] R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs: I",
       Biometrika 39, 1952.
    .. [2] R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired
       comparison experiments", Journal of the American Statistical Association 65, 1970.
    .. [3] L. R. Ford, "Solution of a ranking problem from binary comparisons", American
       Mathematical Monthly 64(8), 1957.

    Examples
    --------
    >>> contests = Contests.of([0] * 40, [1] * 40)
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 2})
    >>> found = system_strengths(contests, [0, 0, 0, 1] * 10, sharing)
    >>> [round(each.value, 4) for each in found.strengths]  # ln(3) / 2
    [0.5493, -0.5493]
    >>> system_strengths(contests, [0] * 40, sharing).reason
    'not_connected'
    """
    check_level(level)
    rows = contests.rows(choice)
    margin = margins(choice, rows)
    n_ties = int((margin == 0).sum())
    n = contests.n_systems

    def undefined(reason: Reason) -> Strengths:
        nothing = Estimate(None, reason)
        return Strengths(rows.size, n_ties, (nothing,) * n, nothing, reason)

    if n < 2 or not rows.size:
        return undefined("too_few_items")
    wins, ties = results(contests, choice, np.ones((1, contests.first.size)))
    fits = fit_strengths(wins, ties)
    if not fits.is_defined[0]:
        return undefined("not_connected")
    beta, log_tie = fits.strength, fits.log_tie
    first, second = contests.first[rows], contests.second[rows]
    expected = _expected(beta[:, first] - beta[:, second], log_tie[:, None])
    gradient = contests.signs(rows) * (margin / 2 - expected.half_margin[0])
    tie_gradient = (margin == 0) - expected.tie[0]
    hessian = _information(beta, log_tie, wins + wins.swapaxes(1, 2) + ties)[0]
    scores = rows.size * np.linalg.solve(hessian, np.vstack([gradient, tie_gradient]))
    within = sharing.take(rows)
    estimates = tuple(linearised(beta[0], scores[:-1], within, level=level))
    tie = Estimate(None, "empty_group")
    if n_ties:
        [tie] = linearised(log_tie, scores[-1:], within, level=level)
    return Strengths(rows.size, n_ties, estimates, tie)


def results(
    contests: Contests, choice: npt.ArrayLike, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Wins of one system over another, and ties of both.

    Both have shape (n_tables, n_systems, n_systems), one table per row of `weights`, which has
    one weight per item. Ties are symmetric.
    """
    rows, n = contests.rows(choice), contests.n_systems
    chosen = np.asarray(choice, dtype=np.int64)[rows]
    winner = np.where(chosen == 1, contests.second[rows], contests.first[rows])
    loser = np.where(chosen == 1, contests.first[rows], contests.second[rows])
    cell = winner * n + loser + (chosen == TIE) * n * n
    cells = [np.bincount(cell, weights=weight[rows], minlength=2 * n * n) for weight in weights]
    tables = np.array(cells, dtype=np.float64).reshape(-1, 2, n, n)
    return tables[:, 0], tables[:, 1] + tables[:, 1].swapaxes(1, 2)


def fit_strengths(wins: FloatArray, ties: FloatArray) -> Fits:
    """Estimates for every table of wins and ties, both of shape (n_tables, n, n)."""
    n_tables, n = wins.shape[:2]
    strength, log_tie = np.full((n_tables, n), np.nan), np.full(n_tables, np.nan)
    has = np.flatnonzero(_is_connected(wins > 0))
    if has.size:
        strength[has], log_tie[has] = _newton(wins[has], ties[has])
    return Fits(strength, log_tie)


def _is_connected(beats: BoolArray) -> BoolArray:
    """Whether chains of wins connect every system to every other, shape (n_tables,)."""
    n = beats.shape[1]
    reach = (beats | np.eye(n, dtype=np.bool_)).astype(np.float32)
    for _ in range(max(n - 1, 1).bit_length()):
        reach = np.minimum(reach @ reach, 1.0)
    return np.asarray((reach > 0).all(axis=(1, 2)))


@dataclass(frozen=True, eq=False)
class _Expected:
    """Half the mean margin, its variance, and ties, of contests with a difference of strengths."""

    half_margin: FloatArray
    variance: FloatArray
    tie: FloatArray


def _expected(difference: FloatArray, log_tie: FloatArray) -> _Expected:
    half = np.abs(difference) / 2
    # Divided by the larger weight to avoid overflow.
    top = np.maximum(half, log_tie)
    win, loss, tie = np.exp(half - top), np.exp(-half - top), np.exp(log_tie - top)
    total = win + loss + tie
    mean = (win - loss) / total / 2
    variance = (win + loss) / total / 4 - mean**2
    return _Expected(np.sign(difference) * mean, variance, tie / total)


def _information(beta: FloatArray, log_tie: FloatArray, games: FloatArray) -> FloatArray:
    """The negative second derivative, with 1 for the undetermined mean of strengths."""
    n = beta.shape[1]
    expected = _expected(beta[:, :, None] - beta[:, None, :], log_tie[:, None, None])
    between = games * expected.variance
    out = np.zeros((beta.shape[0], n + 1, n + 1))
    out[:, :n, :n] = np.eye(n) * between.sum(axis=2)[:, None, :] - between + 1.0
    cross = -(games * expected.half_margin * expected.tie).sum(axis=2)
    out[:, :n, n] = out[:, n, :n] = cross
    own = (games * expected.tie * (1 - expected.tie)).sum(axis=(1, 2)) / 2
    out[:, n, n] = np.where(np.isinf(log_tie), 1.0, own)
    return out


def _newton(wins: FloatArray, ties: FloatArray) -> tuple[FloatArray, FloatArray]:
    n_tables, n = wins.shape[:2]
    games = wins + wins.swapaxes(1, 2) + ties
    total = games.sum(axis=(1, 2)) / 2
    n_ties = ties.sum(axis=(1, 2)) / 2
    beta = np.zeros((n_tables, n))
    log_tie = np.full(n_tables, -np.inf)
    has_ties = n_ties > 0
    log_tie[has_ties] = np.log(2 * n_ties[has_ties] / (total - n_ties)[has_ties])
    observed = (wins - wins.swapaxes(1, 2)).sum(axis=2) / 2
    height = _likelihood(beta, log_tie, wins, n_ties, games)
    for _ in range(_STEPS):
        expected = _expected(beta[:, :, None] - beta[:, None, :], log_tie[:, None, None])
        gradient = np.empty((n_tables, n + 1))
        gradient[:, :n] = observed - (games * expected.half_margin).sum(axis=2)
        gradient[:, n] = n_ties - (games * expected.tie).sum(axis=(1, 2)) / 2
        if (np.abs(gradient).max(axis=1) <= _TOLERANCE * total).all():
            return beta, log_tie
        hessian = _information(beta, log_tie, games)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        size = np.ones(n_tables)
        for _ in range(_HALVINGS):
            ahead = beta + size[:, None] * step[:, :n], log_tie + size * step[:, n]
            there = _likelihood(*ahead, wins, n_ties, games)
            falls = there < height - 1e-12 * np.abs(height)
            if not falls.any():
                break
            size[falls] /= 2
        (beta, log_tie), height = ahead, there
    # Chains of wins exist, but some are too rare for the steps to converge.
    lost = np.abs(gradient).max(axis=1) > _TOLERANCE * total
    beta[lost], log_tie[lost] = np.nan, np.nan
    return beta, log_tie


def _likelihood(
    beta: FloatArray, log_tie: FloatArray, wins: FloatArray, n_ties: FloatArray, games: FloatArray
) -> FloatArray:
    half = (beta[:, :, None] - beta[:, None, :]) / 2
    logs = np.logaddexp(np.logaddexp(half, -half), log_tie[:, None, None])
    of_ties = np.where(n_ties > 0, n_ties * np.where(n_ties > 0, log_tie, 0.0), 0.0)
    likelihood = (wins * half).sum(axis=(1, 2)) - (games * logs).sum(axis=(1, 2)) / 2 + of_ties
    return np.asarray(likelihood, dtype=np.float64)
