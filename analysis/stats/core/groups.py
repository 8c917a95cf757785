"""Accuracy of groups, their differences, and groups with more errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from types import MappingProxyType
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from .multiplicity import holm
from .multiway import ClusterLabels, multiway_proportion, prepare
from .proportions import clustered_variance, wilson_ends, wilson_proportion
from .results import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Proportion,
    Reason,
    check_level,
    known_rows,
    normal_quantile,
    relabel,
    t_quantile,
)
from .shared_variance import FEWEST_DEGREES_OF_FREEDOM

Support = Literal["nothing", "share", "comparison"]

MIN_SHARE = 10
MIN_COMPARED = 30


@dataclass(frozen=True)
class GroupDifference:
    """Difference between the accuracies of two groups.

    Attributes
    ----------
    first, second : int
        Codes of the groups.
    difference : Estimate
        Accuracy of the first minus that of the second.
    p : float or None
        Two-sided p value; None if there is none.
    p_adjusted : float or None
        After Holm over all pairs that were tested. Use this one to claim a difference.
    """

    first: int
    second: int
    difference: Estimate
    p: float | None
    p_adjusted: float | None


@dataclass(frozen=True)
class GroupComparison:
    """Accuracy by group.

    Attributes
    ----------
    cells : mapping of int to Proportion
        By code of the group, ascending.
    support : mapping of int to str
        The uses for which each cell is large enough; see `support`.
    differences : tuple of GroupDifference
        Pairs of groups that are both large enough to be compared.
    """

    cells: Mapping[int, Proportion]
    support: Mapping[int, Support]
    differences: tuple[GroupDifference, ...]


def support(n: int) -> Support:
    """Say whether `n` answers are enough for a percentage or a comparison.

    Parameters
    ----------
    n : int
        Number of answers.

    Returns
    -------
    {"nothing", "share", "comparison"}
        ``"nothing"`` below 10: counts, but no percentage. ``"share"`` below 30: a percentage with
        its interval. ``"comparison"`` from 30 on: it may also be compared with another.

    Examples
    --------
    >>> support(9), support(10), support(30)
    ('nothing', 'share', 'comparison')
    """
    if n < MIN_SHARE:
        return "nothing"
    return "share" if n < MIN_COMPARED else "comparison"


def newcombe_interval(
    correct_1: int, n_1: int, correct_2: int, n_2: int, *, level: float = 0.95
) -> Interval:
    r"""Interval of the difference of two independent shares (Newcombe's hybrid score).

    Parameters
    ----------
    correct_1, n_1, correct_2, n_2 : int
        Numerators and denominators, ``n >= 1``.
    level : float, default 0.95

    Returns
    -------
    Interval
        Of the first share minus the second. Not for two sides on the same items: see
        `paired_difference`.

    Raises
    ------
    ValueError
        If a count is out of range.

    Notes
    -----
    With the Wilson limits l and u of each share,
    :math:`d-\sqrt{(p_1-l_1)^2+(u_2-p_2)^2}` and :math:`d+\sqrt{(u_1-p_1)^2+(p_2-l_2)^2}`.

    References
    ----------
    .. [1] R. G. Newcombe, "Interval Estimation for the Difference Between Independent
       Proportions", Statistics in Medicine 17, 1998.

    Examples
    --------
    >>> interval = newcombe_interval(38, 48, 30, 42)
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.099, 0.253)
    """
    check_level(level)
    if not (0 <= correct_1 <= n_1 and 0 <= correct_2 <= n_2 and n_1 and n_2):
        raise ValueError(f"Counts out of range: {correct_1}/{n_1} and {correct_2}/{n_2}.")
    z = normal_quantile(level)
    p1, p2 = correct_1 / n_1, correct_2 / n_2
    (l1, u1), (l2, u2) = wilson_ends(p1, n_1, z), wilson_ends(p2, n_2, z)
    low = p1 - p2 - ((p1 - l1) ** 2 + (u2 - p2) ** 2) ** 0.5
    high = p1 - p2 + ((u1 - p1) ** 2 + (p2 - l2) ** 2) ** 0.5
    return Interval(low, high, level, "newcombe", n_1 + n_2)


def compare_groups(
    correct: npt.ArrayLike,
    group: npt.ArrayLike,
    *,
    clusters: ClusterLabels | None = None,
    level: float = 0.95,
) -> GroupComparison:
    r"""Accuracy of each group and the differences between them, adjusted for their number.

    Parameters
    ----------
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing; one row per answer.
    group : array_like of int, shape (n,)
        Code of the group of each answer, such as a value of a persona's feature; -1 is none.
    clusters : mapping of str to array_like of int, each of shape (n,), optional
        What answers share, as for `multiway_variance`; needed for answers by people. By default
        rows are independent, like one model's answers to distinct items.
    level : float, default 0.95

    Returns
    -------
    GroupComparison

    Raises
    ------
    ValueError
        If the lengths differ or a value is out of range.

    Notes
    -----
    Independent rows: Wilson and Newcombe intervals, and the score test of two shares. Clustered
    rows: intervals of `multiway_proportion`; the difference has the multiway variance of
    :math:`\frac{y_i-p_1}{n_1}` over the first group minus :math:`\frac{y_i-p_2}{n_2}` over the
    second, and a t test, so that an item or a person in both groups counts as such. Each group's
    scores are scaled by :math:`(1-\sum_jn_{jk}^2/n_k^2)^{-1/2}`, which undoes what the mean of a
    few clusters takes away, and the degrees of freedom are those of Satterthwaite for the
    clustering that has the fewest, as if answers were independent [1]_: with 5 of 30 personas in a
    group they are 5.7, not 29. Below 2 there is no test (``"too_few_clusters"``). A small p value
    before adjustment is not a finding.

    References
    ----------
    .. [1] R. M. Bell and D. F. McCaffrey, "Bias Reduction in Standard Errors for Linear Regression
       with Multi-Stage Samples", Survey Methodology 28(2), 2002.

    Examples
    --------
    >>> right = [1] * 45 + [0] * 5 + [1] * 25 + [0] * 25 + [1] * 4
    >>> result = compare_groups(right, [0] * 50 + [1] * 50 + [2] * 4)
    >>> result.support[2], [(d.first, d.second, d.difference.value) for d in result.differences]
    ('nothing', [(0, 1, 0.4)])
    """
    right, known = known_rows(correct)
    groups = np.asarray(group, dtype=np.int64)
    if right.shape != groups.shape:
        raise ValueError(f"`correct` has {right.size} rows, `group` has {groups.size}.")
    check_level(level)
    known &= groups >= 0

    def taken(rows: BoolArray) -> ClusterLabels | None:
        if clusters is None:
            return None
        return {name: np.asarray(codes)[rows] for name, codes in clusters.items()}

    cells: dict[int, Proportion] = {}
    for code in np.unique(groups[known]).tolist():
        rows = known & (groups == code)
        within = taken(rows)
        cells[code] = (
            wilson_proportion(right[rows], level=level)
            if within is None
            else multiway_proportion(right[rows], within, level=level).proportion
        )
    supports = {code: support(cell.n) for code, cell in cells.items()}
    tested = []
    large = [code for code in cells if supports[code] == "comparison"]
    for first, second in combinations(large, 2):
        rows = known & ((groups == first) | (groups == second))
        within = taken(rows)
        estimate, p = (
            _independent(cells[first], cells[second], level)
            if within is None
            else _clustered(right[rows], groups[rows] == first, within, level)
        )
        tested.append((first, second, estimate, p))
    adjusted = holm([p for *_, p in tested])
    return GroupComparison(
        cells=MappingProxyType(cells),
        support=MappingProxyType(supports),
        differences=tuple(
            GroupDifference(*row, p_adjusted=p) for row, p in zip(tested, adjusted, strict=True)
        ),
    )


def _independent(one: Proportion, two: Proportion, level: float) -> tuple[Estimate, float | None]:
    """Difference of two cells of independent answers, and the score test of no difference."""
    difference = one.correct / one.n - two.correct / two.n
    interval = newcombe_interval(one.correct, one.n, two.correct, two.n, level=level)
    pooled = (one.correct + two.correct) / (one.n + two.n)
    variance = pooled * (1 - pooled) * (1 / one.n + 1 / two.n)
    p = float(2 * special.ndtr(-abs(difference) / variance**0.5)) if variance > 0 else None
    return Estimate(difference, interval=interval), p


def _clustered(
    right: IntArray, in_first: BoolArray, clusters: ClusterLabels, level: float
) -> tuple[Estimate, float | None]:
    share_1, share_2 = float(right[in_first].mean()), float(right[~in_first].mean())
    difference = share_1 - share_2
    prepared = prepare(clusters, right.size)
    if prepared is None:
        return Estimate(difference, interval_reason="too_few_items"), None
    scores = np.where(in_first, right - share_1, share_2 - right)
    scores /= np.where(in_first, in_first.sum(), (~in_first).sum())
    parts = {name: _part(scores, in_first, codes) for name, codes in prepared.one_way.items()}
    df = min(parts[name].degrees_of_freedom for name in prepared.used)
    if df < FEWEST_DEGREES_OF_FREEDOM:
        return Estimate(difference, interval_reason="too_few_clusters"), None
    joint = sum(
        sign * clustered_variance(scores * scores.size, codes) for sign, codes in prepared.joint
    )
    total = sum(parts[name].variance for name in prepared.used) + joint
    variance = max(total, *(part.variance for part in parts.values()))
    if variance <= 1e-24:
        return Estimate(difference, interval_reason="no_variation"), None
    se = variance**0.5
    half = t_quantile(df, (1 + level) / 2) * se
    interval = Interval(
        difference - half,
        difference + half,
        level,
        f"multiway t({df:.1f})",
        prepared.n_clusters.get("item", right.size),
        prepared.n_clusters.get("annotator"),
    )
    p = float(2 * special.stdtr(df, -abs(difference) / se))
    return Estimate(difference, interval=interval), p


@dataclass(frozen=True)
class _Part:
    """The variance of a difference by one clustering, and its degrees of freedom."""

    variance: float
    degrees_of_freedom: float


def _part(scores: FloatArray, in_first: BoolArray, codes: IntArray) -> _Part:
    """Corrected for the mean of each group, which its few clusters decide.

    Each group's sums are multiplied by what the mean takes away from them if answers are
    independent, G/(G - 1) for G equal clusters; the degrees of freedom are those of Satterthwaite.
    """
    n_clusters = int(codes.max()) + 1
    sums, spread, taken, outer = np.zeros(n_clusters), np.zeros(n_clusters), [], []
    for rows in (in_first, ~in_first):
        sizes = np.bincount(codes[rows], minlength=n_clusters) / rows.sum()
        left = 1 - float(sizes @ sizes)
        if left <= 1e-9:
            return _Part(0.0, 0.0)
        sums += np.bincount(codes[rows], scores[rows], n_clusters) / left**0.5
        weight = 1 / left / rows.sum()
        spread += weight * sizes
        taken.append(weight)
        outer.append(sizes)
    # The covariance of the sums is diagonal, less what each group's mean takes away.
    sizes, weights = np.stack(outer), np.array(taken)
    products = sizes @ sizes.T
    trace = float(spread.sum() - weights @ np.diag(products))
    square = float(spread @ spread - 2 * weights @ (sizes**2 @ spread))
    square += float(weights @ products**2 @ weights)
    return _Part(float(sums @ sums), trace**2 / square)


# Smaller groups of personas do not generalise to others like them.
FEWEST_PERSONAS = 3
_TINY = 1e-24


@dataclass(frozen=True)
class GroupErrors:
    """Errors on one group of personas, compared with all other personas.

    Attributes
    ----------
    group : int
    n : int
        Items in the group.
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
    The personas of a group are a sample of all personas like them. With sums :math:`s_j` and sizes
    :math:`n_j` of G personas with mean p over N items, the variance of a side is
    :math:`\frac{G}{G-1}\sum_j(s_j-pn_j)^2/N^2`, and the difference has a t test with the degrees of
    freedom of Welch. A variance over all personas together would be too small where a group has few
    of them. A side without variation, such as a group without errors, gets the variance of all
    personas at its size. Questions asked on both sides do not favour either.

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
    return GroupErrors(code, one.n, one.personas, two.personas, one.mean, two.mean, difference, p)


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
    return Estimate(value, interval=interval), float(2 * special.stdtr(df, -abs(value) / se))
