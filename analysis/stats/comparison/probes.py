"""Biases as differences: due to a change that should not matter, and towards own responses.

Readings are paired: the same question, read once unchanged and once changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..accuracy.general_accuracy import general_contrast, general_proportion
from ..core.results import Estimate, FloatArray, IntArray, Proportion
from ..core.shared_variance import SharedKind, Sharing
from .general_difference import GeneralDifference, general_difference
from .paired import (
    McNemar,
    PairedCounts,
    count_pairs,
    mcnemar,
    tango_interval,
)

MISSING = -1
TIE = 2


@dataclass(frozen=True)
class ProbeEffect:
    """The effect of a change on paired readings.

    Attributes
    ----------
    n_pairs, n_items : int
        Pairs of readings with a choice in both, and their items.
    flipped : Proportion
        Share of pairs whose choice differs, or of items if all or none differ.
    shift : GeneralDifference or None
        Mean credit of the favoured response after the change minus before: 1 if it was chosen,
        one half for a tie. None if the change favours no response.
    exact : McNemar or None
        Items that moved towards (`b`) and away from (`c`) the favoured response, with exact p
        values that take items as independent.
    """

    n_pairs: int
    n_items: int
    flipped: Proportion
    shift: GeneralDifference | None
    exact: McNemar | None


def probe_effect(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    item: npt.ArrayLike,
    clusters: Mapping[str, npt.ArrayLike],
    *,
    target: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> ProbeEffect:
    """Compare paired readings before and after a change.

    Parameters
    ----------
    before, after : array_like of int, shape (n_pairs,)
        0 or 1 for a response, 2 for a tie, -1 for no answer; a pair without both is left out.
    item : array_like of int, shape (n_pairs,)
        The item of each pair; an item may have several, for example one in each order.
    clusters : mapping of str to array_like of int, each of shape (n_pairs,)
        What items share, for example ``persona`` and ``question``.
    target : array_like of int, shape (n_pairs,), optional
        The response that the change favours, 0 or 1.
    level : float, default 0.95

    Returns
    -------
    ProbeEffect
        Its intervals and p value take items, personas and questions as samples
        (`general_difference`); they are undefined with too few clusters of a kind.

    Raises
    ------
    ValueError
        If lengths differ.

    Examples
    --------
    >>> before, after = [0, 1, 0, 1, 0, 1, 0, 1] * 3, [0, 0, 0, 1, 0, 1, 0, 1] * 3
    >>> found = probe_effect(before, after, np.arange(24), {}, target=[0] * 24)
    >>> found.flipped.correct, found.shift.value, found.exact.b
    (3, 0.125, 3)
    """
    one, two, items = (np.asarray(values, dtype=np.int64) for values in (before, after, item))
    if not one.shape == two.shape == items.shape:
        raise ValueError("`before`, `after` and `item` must be equally long.")
    rows = np.flatnonzero((one >= 0) & (two >= 0))
    one, two, items = one[rows], two[rows], items[rows]
    sharing = _sharing(items, clusters, rows)
    differ = one != two
    kept = _independent(differ.astype(np.float64), items)
    flipped = general_proportion(differ[kept], sharing.take(kept), level=level)
    shift, exact = None, None
    if target is not None:
        goal = np.asarray(target, dtype=np.int64)[rows]
        moved = credit(two, goal) - credit(one, goal)
        kept = _independent(moved, items)
        shift = general_difference(moved[kept], sharing.take(kept), level=level)
        exact = _exact(moved, items)
    return ProbeEffect(rows.size, np.unique(items).size, flipped, shift, exact)


def change_of_shift(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    item: npt.ArrayLike,
    clusters: Mapping[str, npt.ArrayLike],
    *,
    level: float = 0.95,
) -> GeneralDifference:
    """Reduction of a shift by a mitigation: mean of `first` minus mean of `second`.

    Parameters
    ----------
    first, second : array_like of float, shape (n_pairs,)
        The change of credit of each pair of readings, without and with the mitigation, from -1
        to 1; NaN where it is unknown.
    item, clusters, level
        As for `probe_effect`.

    Returns
    -------
    GeneralDifference
        From -2 to 2.

    Examples
    --------
    >>> change_of_shift([1, 0, 1, 0] * 6, [0] * 24, np.arange(24), {}).value
    0.5
    """
    halves = (np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)) / 2
    rows = np.flatnonzero(~np.isnan(halves))
    items = np.asarray(item, dtype=np.int64)[rows]
    difference = general_difference(halves[rows], _sharing(items, clusters, rows), level=level)
    return _doubled(difference)


def credit(choice: IntArray, target: IntArray) -> FloatArray:
    """1 where the target was chosen, one half for a tie, 0 for the other response."""
    return np.where(choice == TIE, 0.5, (choice == target).astype(np.float64))


def agreed(choice: IntArray, item: IntArray, shown_first: IntArray, n_items: int) -> IntArray:
    """The choice on each item if both orders agree; a tie if they do not, -1 without both.

    Arrays have one entry per reading. An order that was read several times counts where its
    readings agree.
    """
    verdict = np.full((2, n_items), MISSING, dtype=np.int64)
    for order in (0, 1):
        rows = np.flatnonzero((shown_first == order) & (choice >= 0))
        verdict[order, item[rows]] = choice[rows]
        other = rows[verdict[order, item[rows]] != choice[rows]]
        verdict[order, item[other]] = TIE
    both = (verdict >= 0).all(axis=0)
    return np.where(both, np.where(verdict[0] == verdict[1], verdict[0], TIE), MISSING)


def _sharing(items: IntArray, clusters: Mapping[str, npt.ArrayLike], rows: IntArray) -> Sharing:
    n = np.arange(items.size)
    kinds = {"item": SharedKind.of(n, items, items.size)}
    for name, codes in clusters.items():
        kinds[name] = SharedKind.of(n, np.asarray(codes)[rows], items.size)
    return Sharing.of(items.size, kinds)


def _independent(values: FloatArray, items: IntArray) -> IntArray:
    """The rows that an interval counts: all, or one for each item if nothing varies.

    Without variation nothing shows that the readings of an item agree only by chance.
    """
    if values.size and np.ptp(values) == 0:
        return np.unique(items, return_index=True)[1].astype(np.int64)
    return np.arange(values.size)


def _exact(moved: FloatArray, items: IntArray) -> McNemar:
    _, place = np.unique(items, return_inverse=True)
    sums = np.bincount(place, weights=moved)
    return mcnemar(PairedCounts(int((sums > 0).sum()), int((sums < 0).sum()), sums.size))


def _doubled(difference: GeneralDifference) -> GeneralDifference:
    ends = difference.interval
    return replace(
        difference,
        value=None if difference.value is None else 2 * difference.value,
        se=None if difference.se is None else 2 * difference.se,
        interval=None if ends is None else replace(ends, low=2 * ends.low, high=2 * ends.high),
        narrow=None,
        as_best=None,
        p_equivalence=None,
    )


@dataclass(frozen=True)
class OwnPreference:
    """A judge's choices on pairs with exactly one own response, compared with gold answers.

    Attributes
    ----------
    n : int
        Pairs that the judge decided and that have a gold answer, both without ties.
    chosen, gold : Proportion
        Share of them in which the judge, and the gold answer, chose the judge's own response.
    dbg : GeneralDifference
        ``chosen - gold``, with the clusters that pairs share as samples.
    missed, taken : Proportion
        Share of wrong choices if the gold answer is the judge's own response (missed), and if it is
        the other (the judge took its own).
    bias : GeneralDifference
        ``taken - missed``: above 0 if errors favour the judge's own responses.
    """

    n: int
    chosen: Proportion
    gold: Proportion
    dbg: GeneralDifference
    missed: Proportion
    taken: Proportion
    bias: GeneralDifference


def self_preference(
    judge_chose_own: npt.ArrayLike, truth_is_own: npt.ArrayLike, *, level: float = 0.95
) -> Estimate:
    """Difference between how often a judge chooses its own response and how often it is right.

    Parameters
    ----------
    judge_chose_own, truth_is_own : array_like of int, shape (n_pairs,)
        On pairs with exactly one response of the judge's own: 1 own, 0 the other, -1 missing.
    level : float, default 0.95
        Nominal coverage of the interval.

    Returns
    -------
    Estimate
        Difference of the two shares with Tango's interval, which takes pairs as independent;
        unit: share, [-1, 1].

    Raises
    ------
    ValueError
        If the shapes differ or a value is not -1, 0 or 1.

    Examples
    --------
    >>> round(self_preference([1, 1, 1, 0, 1], [1, 0, 1, 0, 0]).value, 6)
    0.4
    """
    pairs = count_pairs(judge_chose_own, truth_is_own)
    if pairs.n == 0:
        return Estimate(None, "empty_group")
    return Estimate(pairs.difference, interval=tango_interval(pairs, level))


def own_preference(
    judge_chose_own: npt.ArrayLike,
    gold_is_own: npt.ArrayLike,
    sharing: Sharing,
    *,
    level: float = 0.95,
) -> OwnPreference:
    r"""Self-preference of a judge, in all choices and in its errors.

    Parameters
    ----------
    judge_chose_own, gold_is_own : array_like of int, shape (n_pairs,)
        As for `self_preference`.
    sharing : Sharing
        What the pairs share, such as personas and questions.
    level : float, default 0.95

    Returns
    -------
    OwnPreference

    Raises
    ------
    ValueError
        If the shapes differ or a value is not -1, 0 or 1.

    Notes
    -----
    With gold share s and error rates e (of pairs whose gold answer is the judge's own response) and
    f (of the others), DBG is :math:`(1-s)f-se`. A judge whose errors favour nothing (e = f) has
    :math:`(1-2s)e`, which is not 0 unless s is 1/2: its errors pull the share of its own responses
    towards one half. `OwnPreference.bias`, f - e, is 0 for such a judge.

    Examples
    --------
    >>> sharing = Sharing.of_items(5, {"persona": np.arange(5)})
    >>> found = own_preference([1, 1, 1, 0, 1], [1, 0, 1, 0, 0], sharing)
    >>> round(found.dbg.value, 6), found.missed.value, round(found.taken.value, 3)
    (0.4, 0.0, 0.667)
    """
    count_pairs(judge_chose_own, gold_is_own)  # rejects anything but 1, 0 and -1
    judge, gold = (np.asarray(side, dtype=np.int64) for side in (judge_chose_own, gold_is_own))
    rows = np.flatnonzero((judge >= 0) & (gold >= 0))
    judge, gold, within = judge[rows], gold[rows], sharing.take(rows)
    wrong, own, other = judge != gold, gold == 1, gold == 0
    return OwnPreference(
        n=int(rows.size),
        chosen=general_proportion(judge == 1, within, level=level),
        gold=general_proportion(own, within, level=level),
        dbg=general_difference((judge - gold).astype(np.float64), within, level=level),
        missed=general_proportion(wrong[own], within.take(own), level=level),
        taken=general_proportion(wrong[other], within.take(other), level=level),
        bias=general_contrast(wrong, other, wrong, own, within, level=level),
    )
