"""The headline's verdict of many simulated studies at once."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.comparison.general_difference import FEW_OTHERS, why_not
from analysis.stats.core.results import BoolArray, FloatArray, IntArray
from analysis.stats.core.shared_variance import Sharing

STATES = ("better", "worse", "equivalent", "cannot_tell")
BETTER, WORSE, EQUIVALENT, CANNOT_TELL = range(4)
ALPHA = 0.05
HALVINGS = 40  # of an interval that is searched for its end
FEWEST_ITEMS = 30  # with fewer in common, the headline compares nothing


@dataclass(frozen=True, eq=False)
class SimulatedVerdicts:
    """One entry per study.

    Attributes
    ----------
    state : ndarray of int, shape (n_studies,)
        Position in `STATES`, of the run with the most right answers.
    not_worse : ndarray of bool, shape (n_studies,)
        Whether that run is shown to be worse by less than the margin.
    half_width : ndarray of float, shape (n_studies,)
        Half the width of the 95 % interval of that run's difference; NaN without an interval.
    se : ndarray of float, shape (n_studies,)
        Standard error of the difference; NaN without one.
    """

    state: IntArray
    not_worse: BoolArray
    half_width: FloatArray
    se: FloatArray

    @classmethod
    def joined(cls, parts: "list[SimulatedVerdicts]") -> "SimulatedVerdicts":
        return cls(
            np.concatenate([part.state for part in parts]),
            np.concatenate([part.not_worse for part in parts]),
            np.concatenate([part.half_width for part in parts]),
            np.concatenate([part.se for part in parts]),
        )


def verdicts(
    differences: npt.ArrayLike,
    right: npt.ArrayLike,
    sharing: Sharing,
    *,
    margin: float = 0.05,
) -> SimulatedVerdicts:
    """What the headline of a report would say about each of many studies.

    Parameters
    ----------
    differences : array_like of float, shape (n_studies, n_judges, n_items)
        Judge right less majority right, for items that both decided.
    right : array_like of float, shape (n_studies, n_judges)
        Right answers of each judge among all its items. The judge with the most is named.
    sharing : Sharing
        What the items share, with the people who voted.
    margin : float, default 0.05

    Returns
    -------
    SimulatedVerdicts

    Notes
    -----
    The same numbers as `general_differences` with `adjusted_states`, computed for all studies
    together.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = verdicts(np.tile([1.0, 0, 1, 0, 1, -1, 1, 0], 5)[None, None], [[30]], sharing)
    >>> [STATES[state] for state in found.state], bool(found.not_worse[0])
    (['better'], True)
    """
    d = np.asarray(differences, dtype=np.float64)
    studies, judges, n = d.shape
    best = np.asarray(right).argmax(axis=1)
    unknown = np.full(studies, np.nan)
    if n < FEWEST_ITEMS or why_not(sharing):
        none = np.zeros(studies, dtype=np.bool_)
        return SimulatedVerdicts(np.full(studies, CANNOT_TELL), none, unknown, unknown)
    found = _tests(d.reshape(-1, n), sharing, margin, judges)
    p, q, half, se, bound = (column.reshape(studies, judges) for column in found)
    rows = np.arange(studies)
    value = d.mean(axis=2)[rows, best]
    apart, inside = _holm(p)[rows, best] <= ALPHA, _holm(q)[rows, best] <= ALPHA
    state = np.select(
        [apart & (value > 0), apart, inside], [BETTER, WORSE, EQUIVALENT], CANNOT_TELL
    )
    return SimulatedVerdicts(state, bound[rows, best] > -margin, half[rows, best], se[rows, best])


def _tests(
    d: FloatArray, sharing: Sharing, margin: float, judges: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """p of no difference, p of equivalence, half width, standard error, lower bound."""
    n = d.shape[1]
    spread = sharing.spread(d)
    variance, df = spread.variance, spread.degrees_of_freedom
    value = d.mean(axis=1)
    independent = ((d - value[:, None]) ** 2).sum(axis=1) / n**2
    only_first, only_second = np.maximum(d, 0).sum(axis=1), np.maximum(-d, 0).sum(axis=1)
    commonest = np.maximum(np.maximum(only_first, only_second), n - only_first - only_second)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(variance > 0, np.minimum(1.0, independent / variance), 1.0)
        se = np.sqrt(variance)
        p = 2 * special.stdtr(df, -np.abs(value) / se)
        q = special.stdtr(df, -(margin - np.abs(value)) / se)
    half = special.stdtrit(df, 0.975) * se
    bound = value - special.stdtrit(df, 1 - ALPHA / judges) * se
    few = np.flatnonzero((variance <= 0) | ((n - commonest) * share < FEW_OTHERS))
    if few.size:
        counts = (only_first * share)[few], (only_second * share)[few], (n * share)[few]
        own = df[few]
        below, above = _tango(*counts, -margin), _tango(*counts, margin)
        p[few] = 2 * special.stdtr(own, -np.abs(_tango(*counts, 0.0)))
        q[few] = np.maximum(special.stdtr(own, -below), special.stdtr(own, above))
        wide = special.stdtrit(own, 0.975)
        half[few] = (_end(*counts, -wide) - _end(*counts, wide)) / 2
        bound[few] = _end(*counts, special.stdtrit(own, 1 - ALPHA / judges))
    return np.minimum(p, 1.0), np.minimum(q, 1.0), half, se, bound


def _tango(b: FloatArray, c: FloatArray, n: FloatArray, at: float | FloatArray) -> FloatArray:
    """`tango_score` of many studies."""
    linear = -b - c + (2 * n - b + c) * at
    constant = -c * at * (1 - at)
    root = np.sqrt(np.maximum(linear * linear - 8 * n * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        only_second = np.where(
            linear <= 0, (root - linear) / (4 * n), -2 * constant / (root + linear)
        )
        variance = n * (2 * only_second + at * (1 - at))
        distance = b - c - n * at
        score = distance / np.sqrt(variance)
        at_edge = np.where(distance == 0, 0.0, np.copysign(np.inf, distance))
    return np.where(variance <= 0, at_edge, score)


def _end(b: FloatArray, c: FloatArray, n: FloatArray, target: FloatArray) -> FloatArray:
    """The difference at which the score is `target`; the score falls as the difference rises."""
    observed = (b - c) / n
    low = np.where(target > 0, -1.0, observed)
    high = np.where(target > 0, observed, 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_above = _tango(b, c, n, middle) > target
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return (low + high) / 2


def _holm(p: FloatArray) -> FloatArray:
    """`holm` of each row."""
    order = np.argsort(p, axis=1, kind="stable")
    factors = np.arange(p.shape[1], 0, -1)
    sorted_p = np.take_along_axis(p, order, axis=1)
    stepped = np.maximum.accumulate(np.minimum(1.0, factors * sorted_p), axis=1)
    found = np.empty_like(p)
    np.put_along_axis(found, order, stepped, axis=1)
    return found
