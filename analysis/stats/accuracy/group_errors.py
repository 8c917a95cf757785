"""On which groups of personas a side errs more often than on the others."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.stats.core.checks import check_level, relabel, t_quantile
from analysis.stats.core.results import BoolArray, Estimate, FloatArray, IntArray, Interval, Reason

# A group of fewer personas says nothing about others like them.
FEWEST_PERSONAS = 3
_TINY = 1e-24


@dataclass(frozen=True)
class GroupErrors:
    """The errors on one group of personas, next to those on all other personas.

    Attributes
    ----------
    group : int
    n, n_rest : int
        Items of the group, and of the others.
    personas, personas_rest : int
    inside, outside : float or None
        Mean of the values, such as the share of wrong answers, on either side; None without items.
    difference : Estimate
        ``inside - outside``; no interval with fewer than three personas on a side
        (``"too_few_clusters"``).
    p : float or None
        Of the two-sided test of no difference, of this group alone. `permuted_groups` tests all
        groups at once.
    """

    group: int
    n: int
    n_rest: int
    personas: int
    personas_rest: int
    inside: float | None
    outside: float | None
    difference: Estimate
    p: float | None


def errors_by_group(
    wrong: npt.ArrayLike, group: npt.ArrayLike, persona: npt.ArrayLike, *, level: float = 0.95
) -> tuple[GroupErrors, ...]:
    r"""Compare the errors on each group of personas with those on all others.

    Parameters
    ----------
    wrong : array_like of float, shape (n_items,)
        1 wrong, 0 right; or any other value, such as the difference of two sides. NaN is left out.
    group : array_like of int, shape (n_items,)
        Code of the group of each item's persona, such as a value of a feature; -1 is none. All
        items of a persona have the same one.
    persona : array_like of int, shape (n_items,)
        Code of each item's persona.
    level : float, default 0.95

    Returns
    -------
    tuple of GroupErrors
        One for each group with an item, by code.

    Raises
    ------
    ValueError
        If the lengths differ, or a persona is in two groups.

    Notes
    -----
    The personas of a group are a sample of all personas like them. With sums :math:`s_j` and
    sizes :math:`n_j` of G personas with mean p over N items, the variance of a side is
    :math:`\frac{G}{G-1}\sum_j(s_j-pn_j)^2/N^2`, and the difference has a t test with the degrees of
    freedom of Welch. A variance over all personas together would be too small where a group
    has few of them. A side without any variation, such as a group without errors, has the variance
    of all personas at its size: its own says nothing. Questions that both sides were asked do not
    favour either.

    Examples
    --------
    >>> wrong = [1, 1, 0, 1] * 5 + [0, 0, 0, 1] * 10
    >>> persona = np.arange(60) // 4
    >>> inside, outside = errors_by_group(wrong, persona >= 5, persona)
    >>> inside.inside, outside.inside, inside.difference.value
    (0.75, 0.25, 0.5)
    """
    check_level(level)
    values = np.asarray(wrong, dtype=np.float64)
    groups, personas = (np.asarray(codes, dtype=np.int64) for codes in (group, persona))
    if not values.shape == groups.shape == personas.shape or values.ndim != 1:
        raise ValueError("`wrong`, `group` and `persona` must have one length.")
    known = ~np.isnan(values) & (groups >= 0)
    values, groups, personas = values[known], groups[known], personas[known]
    codes, n_personas = relabel(personas)
    group_of = np.zeros(n_personas, dtype=np.int64)
    group_of[codes] = groups
    if (group_of[codes] != groups).any():
        raise ValueError("A persona is in two groups.")
    return tuple(
        _against_rest(values, groups == code, codes, int(code), level)
        for code in np.unique(group_of)
    )


@dataclass(frozen=True)
class _RaterSide:
    n: int
    personas: int
    mean: float | None
    variance: float


def _side(values: FloatArray, personas: IntArray, every: _RaterSide | None = None) -> _RaterSide:
    if not values.size:
        return _RaterSide(0, 0, None, 0.0)
    code, _ = relabel(personas)
    sizes, sums = np.bincount(code), np.bincount(code, weights=values)
    n, k, mean = int(values.size), int(sizes.size), float(values.mean())
    if k < 2:
        return _RaterSide(n, k, mean, 0.0)
    spread = float(((sums - mean * sizes) ** 2).sum()) / n**2
    variance = k / (k - 1) * spread
    if variance <= _TINY and every is not None:
        # What as many of all personas have, at the same number of items a persona.
        variance = every.variance * every.personas / k * (every.n * k / (n * every.personas)) ** 2
    return _RaterSide(n, k, mean, variance)


def _against_rest(
    values: FloatArray, inside: BoolArray, personas: IntArray, code: int, level: float
) -> GroupErrors:
    every = _side(values, personas)
    one, two = (_side(values[rows], personas[rows], every) for rows in (inside, ~inside))
    difference, p = _tested(one, two, level)
    return GroupErrors(
        code, one.n, two.n, one.personas, two.personas, one.mean, two.mean, difference, p
    )


def _tested(one: _RaterSide, two: _RaterSide, level: float) -> tuple[Estimate, float | None]:
    if one.mean is None or two.mean is None:
        return Estimate(None, "empty_group"), None
    value = one.mean - two.mean
    total = one.variance + two.variance
    why: Reason | None = None
    if min(one.personas, two.personas) < FEWEST_PERSONAS:
        why = "too_few_clusters"
    elif total <= _TINY:
        why = "no_variation"
    if why is not None:
        return Estimate(value, interval_reason=why), None
    parts = ((side.variance**2 / (side.personas - 1)) for side in (one, two))
    df, se = total**2 / sum(parts), sqrt(total)
    half = t_quantile(df, (1 + level) / 2) * se
    interval = Interval(value - half, value + half, level, "Welch t of personas", one.n + two.n)
    return Estimate(value, interval=interval), float(2 * stats.t.sf(abs(value) / se, df))
