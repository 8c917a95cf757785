"""Insight: how well certainty separates right from wrong answers, apart from accuracy."""

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.comparison.general_difference import (
    GeneralDifference,
    interval_of,
    t_tail,
    why_not,
)
from analysis.stats.core.results import (
    BoolArray,
    FloatArray,
    IntArray,
    Interval,
    Reason,
    check_level,
    t_quantile,
)
from analysis.stats.core.shared_variance import Sharing

N_LEVELS = 4
# Minimum of answers of each kind: right, wrong, each truth and each choice.
FEWEST_OF_A_KIND = 10
LEAST_D = 0.2
STEPS = 200
CHANGE = 0.1  # step of a count, for the influence of one answer


@dataclass(frozen=True)
class Insight:
    """Sensitivity of choices, sensitivity of certainty, and their ratio.

    Attributes
    ----------
    m_ratio : float or None
        `meta_d` / `d_prime`: 1 if certainty uses all the evidence behind the choice, 0 if it is
        unrelated to being right.
    d_prime, criterion : float or None
        Sensitivity of the choices and their bias, positive towards option 0; None with too few
        answers.
    meta_d : float or None
        The d′ at which an ideal observer would have certainties like these.
    reason : str or None
        Why `m_ratio` is None: ``"empty_group"``, ``"no_variation"`` (all right, all wrong, or one
        certainty), ``"too_few_items"``, or ``"not_identified"`` (d′ below 0.2).
    interval : Interval or None
        Interval of `m_ratio`.
    interval_reason : str or None
        Why there is no interval although `m_ratio` is defined.
    n, n_right, n_levels : int
        Answers used, right ones among them, and their levels of certainty.
    """

    m_ratio: float | None
    d_prime: float | None = None
    criterion: float | None = None
    meta_d: float | None = None
    reason: Reason | None = None
    interval: Interval | None = None
    interval_reason: Reason | None = None
    n: int = 0
    n_right: int = 0
    n_levels: int = 0
    # The change of `m_ratio` due to one more answer like each given one; 0 for unused ones.
    influence: FloatArray = field(default_factory=lambda: np.empty(0), repr=False, compare=False)


def certainty_levels(
    certainty: npt.ArrayLike, by: npt.ArrayLike | None = None, *, n_levels: int = N_LEVELS
) -> IntArray:
    """Levels of certainty with about equally many answers; equal certainties stay together.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        NaN is missing.
    by : array_like of int, shape (n,), optional
        Person of each answer, from 0. Levels are then formed per person, so that they do not depend
        on how people use the scale.
    n_levels : int, default 4
        At least 2.

    Returns
    -------
    ndarray of int, shape (n,)
        From 0, the least certain; -1 if missing.

    Notes
    -----
    An answer with the mid-rank r among n is at level :math:`\\lfloor Kr/n\\rfloor`, with r between
    0 and n. Two different certainties always give two levels; some levels may stay empty.

    Examples
    --------
    >>> certainty_levels([60, 70, 80, 90, 90, 100, 100, 100, np.nan]).tolist()
    [0, 0, 1, 2, 2, 3, 3, 3, -1]
    >>> certainty_levels([50, 60, 90, 95], by=[0, 0, 1, 1], n_levels=2).tolist()
    [0, 1, 0, 1]
    """
    if n_levels < 2:
        raise ValueError(f"`n_levels` must be at least 2, got {n_levels}.")
    values = np.asarray(certainty, dtype=np.float64)
    people = np.zeros(values.size, dtype=np.int64) if by is None else np.asarray(by)
    if people.shape != values.shape:
        raise ValueError(f"`by` has {people.size} rows, the certainties {values.size}.")
    levels = np.full(values.size, -1, dtype=np.int64)
    known = np.flatnonzero(~np.isnan(values))
    rows = known[np.lexsort((values[known], people[known]))]
    is_new = np.diff(people[rows]) != 0
    start, size = _groups(is_new, rows.size)
    tied_from, n_tied = _groups(is_new | (np.diff(values[rows]) != 0), rows.size)
    share = (tied_from - start + n_tied / 2) / np.maximum(size, 1)
    levels[rows] = np.floor(n_levels * share).astype(np.int64)
    return levels


def _groups(is_new: BoolArray, n: int) -> tuple[IntArray, IntArray]:
    """The first row and the size of each row's group; a group begins after each `is_new`."""
    starts = np.flatnonzero(np.concatenate([np.ones(min(n, 1), dtype=np.bool_), is_new[:n]]))
    sizes = np.diff(np.append(starts, n))
    return np.repeat(starts, sizes), np.repeat(sizes, sizes)


def insight(
    truth: npt.ArrayLike,
    choice: npt.ArrayLike,
    certainty: npt.ArrayLike,
    sharing: Sharing,
    *,
    by: npt.ArrayLike | None = None,
    n_levels: int = N_LEVELS,
    level: float = 0.95,
) -> Insight:
    r"""d′, meta-d′ and the M-ratio of choices between two options, each with a certainty.

    Parameters
    ----------
    truth, choice : array_like of int, shape (n,)
        0 or 1; answers with any other value, such as a tie or a missing one, are left out.
    certainty : array_like of float, shape (n,)
        Answers with NaN are left out.
    sharing : Sharing
        What the n answers have in common.
    by : array_like of int, shape (n,), optional
        Person of each answer: see `certainty_levels`.
    n_levels : int, default 4
    level : float, default 0.95

    Returns
    -------
    Insight

    Raises
    ------
    ValueError
        If the arrays do not fit together or a number is out of range.

    Notes
    -----
    Answers are counted by truth, choice and level, over all people. With K levels in use, 1/2K is
    added to each cell, that is 0.5 to hits and false alarms and 1 to their totals. Then
    :math:`d'=z(H)-z(F)` and :math:`c=-(z(H)+z(F))/2`. meta-d′ maximises the likelihood of the
    levels given truth and choice, with separate criteria for each choice and :math:`c/d'` fixed
    at its value for the choices [1]_.

    The interval is linearised: the M-ratio changes by the sum of the answers' influences, whose
    variance allows for everything that answers share (`Sharing.spread`).

    References
    ----------
    .. [1] B. Maniscalco and H. Lau, "A signal detection theoretic approach for estimating
       metacognitive sensitivity from confidence ratings", Consciousness and Cognition 21(1), 2012.

    Examples
    --------
    >>> truth = [0, 0, 0, 1, 1, 1] * 20
    >>> choice, certainty = [0, 0, 1, 1, 1, 0] * 20, [90, 80, 60, 90, 70, 70] * 20
    >>> sharing = Sharing.of_items(120, {"persona": np.arange(120) // 4})
    >>> found = insight(truth, choice, certainty, sharing)
    >>> round(found.d_prime, 1), found.n_right, found.m_ratio > 1
    (0.8, 80, True)
    """
    check_level(level)
    truths, choices = (np.asarray(side).astype(np.int64) for side in (truth, choice))
    stated = np.asarray(certainty, dtype=np.float64)
    if not truths.shape == choices.shape == stated.shape == (sharing.n,):
        raise ValueError(f"Truths, choices and certainties must have shape ({sharing.n},).")
    used = np.isin(truths, (0, 1)) & np.isin(choices, (0, 1)) & ~np.isnan(stated)
    rows = np.flatnonzero(used)
    of = None if by is None else np.asarray(by)[rows]
    levels = certainty_levels(stated[rows], of, n_levels=n_levels)
    kept, codes = np.unique(levels, return_inverse=True)
    cell = (truths[rows] * 2 + choices[rows]) * kept.size + codes
    counts = np.bincount(cell, minlength=4 * kept.size).reshape(2, 2, kept.size).astype(np.float64)
    n_right = int(counts[0, 0].sum() + counts[1, 1].sum())
    none = Insight(None, n=rows.size, n_right=n_right, n_levels=kept.size)
    if reason := _too_few(counts.sum(axis=2)):
        return replace(none, reason=reason)
    d, c = (float(value[0]) for value in _type_1(_padded(counts[None])))
    none = replace(none, d_prime=d, criterion=c)
    if kept.size < 2:
        return replace(none, reason="no_variation")
    meta, slopes = (None, counts) if d < LEAST_D else _fit_with_slopes(counts)
    if meta is None:
        return replace(none, reason="not_identified")
    influence = np.zeros(truths.size)
    influence[rows] = slopes[cell]
    within = sharing if rows.size == sharing.n else sharing.take(rows)
    interval, why = _interval(meta / d, influence[rows], within, level)
    return replace(
        none,
        m_ratio=meta / d,
        meta_d=meta,
        interval=interval,
        interval_reason=why,
        influence=influence,
    )


def insight_difference(
    first: Insight,
    first_item: npt.ArrayLike,
    second: Insight,
    second_item: npt.ArrayLike,
    sharing: Sharing,
    *,
    level: float = 0.95,
) -> GeneralDifference:
    """M-ratio of the first side minus that of the second, allowing for what their items share.

    Parameters
    ----------
    first, second : Insight
    first_item, second_item : array_like of int
        Item of each of the side's answers, as codes of `sharing`.
    sharing : Sharing
        What items have in common, including the people who voted.
    level : float, default 0.95

    Returns
    -------
    GeneralDifference
        Without p values of equivalence. If undefined, with the reason of the first undefined side.

    Examples
    --------
    >>> truth, items = [0, 0, 0, 1, 1, 1] * 20, np.arange(120)
    >>> choice, certainty = [0, 0, 1, 1, 1, 0] * 20, [90, 80, 60, 90, 70, 70] * 20
    >>> sharing = Sharing.of_items(120, {"persona": items // 4})
    >>> side = insight(truth, choice, certainty, sharing)
    >>> found = insight_difference(side, items, side, items, sharing)
    >>> found.value, found.interval_reason
    (0.0, 'no_variation')
    """
    check_level(level)
    if first.m_ratio is None or second.m_ratio is None:
        return GeneralDifference(None, reason=first.reason or second.reason)
    value = first.m_ratio - second.m_ratio
    scores = np.zeros(sharing.n)
    answered = np.zeros(sharing.n, dtype=np.bool_)
    for side, item, sign in ((first, first_item, 1), (second, second_item, -1)):
        items = np.asarray(item)
        np.add.at(scores, items, sign * side.influence)
        answered[items[side.influence != 0]] = True
    rows = np.flatnonzero(answered)
    within = sharing if rows.size == sharing.n else sharing.take(rows)
    if reason := why_not(within):
        return GeneralDifference(value, n=rows.size, interval_reason=reason)
    spread = within.spread(scores[rows] * rows.size)
    variance, df = float(spread.variance[0]), float(spread.degrees_of_freedom[0])
    if variance <= 0:
        return GeneralDifference(value, n=rows.size, interval_reason="no_variation")
    se = math.sqrt(variance)
    half = t_quantile(df, (1 + level) / 2) * se
    interval = interval_of(value - half, value + half, level, "general t", within)
    p = min(1.0, 2 * t_tail(df, abs(value) / se))
    return GeneralDifference(value, se=se, df=df, p=p, interval=interval, n=rows.size)


def _too_few(table: FloatArray) -> Reason | None:
    """Why the answers by truth and choice are too few, or None."""
    right, n = table[0, 0] + table[1, 1], table.sum()
    if n == 0:
        return "empty_group"
    if right in (0, n):
        return "no_variation"
    kinds = [right, n - right, *table.sum(axis=0), *table.sum(axis=1)]
    return "too_few_items" if min(kinds) < FEWEST_OF_A_KIND else None


def _interval(
    value: float, influence: FloatArray, sharing: Sharing, level: float
) -> tuple[Interval | None, Reason | None]:
    if reason := why_not(sharing):
        return None, reason
    spread = sharing.spread(influence * sharing.n)
    variance, df = float(spread.variance[0]), float(spread.degrees_of_freedom[0])
    if variance <= 0:
        return None, "no_variation"
    half = t_quantile(df, (1 + level) / 2) * math.sqrt(variance)
    return interval_of(value - half, value + half, level, "general t", sharing), None


def _padded(counts: FloatArray) -> FloatArray:
    padding: float = 1 / (2 * counts.shape[-1])
    return counts + padding


def _type_1(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """d′ and criterion of tables of shape (tables, truth, choice, levels)."""
    table = counts.sum(axis=3)
    false_alarms, hits = special.ndtri(table[:, :, 1] / table.sum(axis=2)).T
    return hits - false_alarms, -(hits + false_alarms) / 2


def _fit_with_slopes(counts: FloatArray) -> tuple[float | None, FloatArray]:
    """meta-d′, and the slope of the M-ratio in the count of each cell."""
    cells = np.flatnonzero(counts)
    slopes = np.zeros(counts.size)
    one, start = fit_meta_d(_padded(counts[None]))
    changes = np.zeros((2, cells.size, counts.size))
    changes[0, np.arange(cells.size), cells] = CHANGE
    changes[1] = -changes[0]
    tables = _padded(counts + changes.reshape(-1, *counts.shape))
    meta, _ = fit_meta_d(tables, np.repeat(start, len(tables), axis=0))
    if np.isnan(one).any() or np.isnan(meta).any():
        return None, slopes
    above, below = (meta / _type_1(tables)[0]).reshape(2, -1)
    slopes[cells] = (above - below) / (2 * CHANGE)
    return float(one[0]), slopes


def fit_meta_d(
    counts: FloatArray, start: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Maximum likelihood for tables of one shape (tables, truth, choice, levels), all above 0.

    Returns meta-d′ (NaN if it was not found) and all parameters: meta-d′ and, for each choice, the
    logarithms of the distances between criteria, from the criterion of the choice outwards.

    Fisher scoring, damped in tables whose likelihood would fall.
    """
    d, c = _type_1(counts)
    side = np.array([-1.0, 1.0])
    # Evidence for the choice has its mean `lean` times meta-d′ beyond the criterion.
    lean = side[None, None, :] * (side[None, :, None] / 2 - (c / d)[:, None, None])
    theta = _first_guess(counts, d, lean) if start is None else start.copy()
    totals = counts.sum(axis=3)[..., None]
    damping = np.full(len(counts), 1e-6)
    likelihood, shares, slope = _model(theta, lean, counts)
    done = np.zeros(len(counts), dtype=np.bool_)
    for _ in range(STEPS):
        score = np.einsum("bsrk,bsrkp->bp", counts / shares, slope)
        weighted = slope * (totals / shares)[..., None]
        information = np.einsum("bsrkp,bsrkq->bpq", weighted, slope)
        diagonal = np.einsum("bpp->bp", information)
        ridge = (damping[:, None] * (diagonal + 1e-9))[:, :, None] * np.eye(theta.shape[1])
        step = np.linalg.solve(information + ridge, score[..., None])[..., 0]
        done = (score * step).sum(axis=1) < 1e-13
        if done.all():
            break
        tried = theta + np.clip(step, -2, 2)
        new_likelihood, new_shares, new_slope = _model(tried, lean, counts)
        better = new_likelihood >= likelihood - 1e-12
        theta[better], likelihood[better] = tried[better], new_likelihood[better]
        shares[better], slope[better] = new_shares[better], new_slope[better]
        damping = np.where(better, damping / 10, np.maximum(damping, 1e-6) * 100)
    return np.where(done, theta[:, 0], np.nan), theta


def _first_guess(counts: FloatArray, d: FloatArray, lean: FloatArray) -> FloatArray:
    """Criteria at which an ideal observer with this d′ has the observed levels of right answers."""
    right = counts[:, [0, 1], [0, 1]]
    beyond = right[..., ::-1].cumsum(axis=2)[..., ::-1] / right.sum(axis=2, keepdims=True)
    at = (lean[:, [0, 1], [0, 1]] * d[:, None])[..., None]
    edges = at - special.ndtri(np.clip(beyond * special.ndtr(at), 1e-9, 1 - 1e-9))
    gaps = np.log(np.maximum(np.diff(edges, axis=2), 1e-3))
    return np.concatenate([d[:, None], gaps.reshape(len(d), -1)], axis=1)


def _model(
    theta: FloatArray, lean: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Log-likelihood, share of each level given truth and choice, and the slopes of the shares."""
    n, levels = len(theta), counts.shape[3]
    gaps = np.exp(np.clip(theta[:, 1:], -30, 4)).reshape(n, 2, levels - 1)
    edges = np.concatenate([np.zeros((n, 2, 1)), gaps.cumsum(axis=2)], axis=2)
    z = (lean * theta[:, :1, None])[..., None] - edges[:, None]
    reach, density = special.ndtr(z), np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    first = np.maximum(reach[..., :1], 1e-300)
    shares = np.maximum(reach - np.concatenate([reach[..., 1:], np.zeros_like(first)], 3), 1e-300)
    shares = shares / first
    slope = np.zeros((*z.shape, theta.shape[1]))
    slope[..., 0] = density * lean[..., None]
    within = np.tril(np.ones((levels, levels)), -1)[:, : levels - 1]
    for choice in (0, 1):
        own = slice(1 + choice * (levels - 1), 1 + (choice + 1) * (levels - 1))
        moved = within * gaps[:, choice, None, :]
        slope[:, :, choice, :, own] = -density[:, :, choice, :, None] * moved[:, None]
    after = np.concatenate([slope[..., 1:, :], np.zeros_like(slope[..., :1, :])], axis=3)
    change = (slope - after - shares[..., None] * slope[..., :1, :]) / first[..., None]
    return (counts * np.log(shares)).sum(axis=(1, 2, 3)), shares, change
