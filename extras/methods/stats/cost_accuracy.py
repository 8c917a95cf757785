"""Cost-accuracy frontier of labelling by people, a judge, or both."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.stats.core.bootstrap import percentile_interval
from analysis.stats.core.results import (
    BoolArray,
    FloatArray,
    IntArray,
    Interval,
    check_level,
    relabel,
)
from analysis.stats.core.votes import Votes
from extras.methods.stats.crowd_equivalence import majority_of_some, people_and_judge

Policy = Literal["judge", "people", "judge and people", "judge, then people"]


@dataclass(frozen=True)
class Mix:
    """One policy of labelling, with its price and accuracy.

    Attributes
    ----------
    policy : str
        ``"judge"`` alone; ``"people"``: the majority of `people`; ``"judge and people"``: the
        judge votes as one of them; ``"judge, then people"``: the majority of `people` if the
        judge is less certain than `threshold`.
    people : int
        People per item that people label.
    threshold : float or None
        Threshold of the last policy.
    price : float
        Mean price of an item.
    accuracy : float
        Expected accuracy on these items; a tie counts one half.
    interval : Interval or None
        Interval of the accuracy from resampled items; None without `rng` or if all items are alike.
    best : bool
        Whether nothing at this price or below is more accurate.
    often_best : float or None
        Share of resamples in which it is `best`: how much of the choice is luck.
    """

    policy: Policy
    people: int
    threshold: float | None
    price: float
    accuracy: float
    interval: Interval | None
    best: bool
    often_best: float | None


def price_mixes(
    votes: Votes,
    judge: npt.ArrayLike,
    certainty: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    price_person: float,
    price_judge: float,
    thresholds: npt.ArrayLike = (60, 70, 80, 90),
    rng: np.random.Generator | None = None,
    n_draws: int = 1000,
    level: float = 0.95,
) -> tuple[Mix, ...]:
    r"""Accuracy and price of labelling by people, by a judge, and by mixtures of both.

    Parameters
    ----------
    votes : Votes
        Choices of people between two options.
    judge : array_like of int, shape (n_items,)
        The judge's choice, -1 missing.
    certainty : array_like of float, shape (n_items,)
        The judge's certainty; a missing one (NaN) is below every threshold.
    truth : array_like of int, shape (n_items,)
        True option; -1 is unknown.
    price_person, price_judge : float
        Price of one answer in any currency, not negative.
    thresholds : array_like of float, default (60, 70, 80, 90)
        Certainties below which people label an item. Choose them before you see the data: the best
        of many is overestimated.
    rng : numpy.random.Generator, optional
        Source of randomness. None: no intervals.
    n_draws : int, default 1000
        Resamples of items, at least 2; all policies are computed again in each.
    level : float, default 0.95

    Returns
    -------
    tuple of Mix
        Sorted by price, then accuracy; empty if no item has a truth, a judge's answer and at least
        two people. Numbers of people go up to the smallest number on any of these items.

    Raises
    ------
    ValueError
        If lengths differ, a price is negative, there are more than two options, or a number is
        out of range.

    Notes
    -----
    The accuracy of k people is the exact mean over all choices of k of an item's people, as in
    `crowd_equivalence`. Intervals resample items with their people. The best of many policies is
    partly luck, which its own interval does not show: `often_best` does, and a choice between
    policies should be confirmed on other items.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 0]] * 5)
    >>> mixes = price_mixes(
    ...     votes, [0, 0, 1, 0] * 5, [95, 85, 40, 90] * 5, [0] * 20,
    ...     price_person=0.2, price_judge=0.01, thresholds=[80],
    ... )
    >>> for mix in mixes:
    ...     if mix.best:
    ...         print(mix.policy, mix.people, round(mix.price, 3), round(mix.accuracy, 3))
    judge 0 0.01 0.75
    judge, then people 1 0.06 0.917
    judge, then people 3 0.16 1.0
    """
    if not (price_person >= 0 and price_judge >= 0):
        raise ValueError(f"Prices must not be negative, got {price_person} and {price_judge}.")
    stated = np.asarray(certainty, dtype=np.float64)
    if stated.shape != (votes.n_items,):
        raise ValueError(f"`certainty` has {stated.size} items, `votes` has {votes.n_items}.")
    check_level(level)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    right, size, judge_right = people_and_judge(votes, judge, truth)
    if size.size == 0:
        return ()
    usable = (votes.counts().sum(axis=1) >= 2) & (np.asarray(judge) >= 0)
    stated = stated[usable & np.isin(np.asarray(truth), (0, 1))]
    tried = np.asarray(thresholds, dtype=np.float64)
    # Items with equal counts that every threshold treats alike are computed as one kind.
    reached = (stated[:, None] >= tried).sum(axis=1)
    kind = np.zeros(size.size, dtype=np.int64)
    for part in (right, size, judge_right, reached):
        kind, n_kinds = relabel(kind * (int(part.max()) + 1) + part)
    occurs = np.bincount(kind)
    example = np.empty(n_kinds, dtype=np.int64)
    example[kind] = np.arange(kind.size)

    kinds = right[example], size[example], judge_right[example]
    ways = _ways(*kinds, stated[example], tried)
    asked = np.stack([way.asked * way.people for way in ways], axis=1)
    shared = np.array([0.0 if way.policy == "people" else price_judge for way in ways])
    outcome = np.stack([way.outcome for way in ways], axis=1)

    def of(weights: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Accuracy, price and whether it is best, for each policy and row of weights."""
        share = weights / weights.sum(axis=1, keepdims=True)
        accuracy, price = share @ outcome, shared + price_person * (share @ asked)
        return accuracy, price, _best(accuracy, price)

    accuracy, price, best = (found[0] for found in of(occurs[None].astype(np.float64)))
    intervals: list[Interval | None] = [None] * len(ways)
    often: list[float | None] = [None] * len(ways)
    if rng is not None and size.size > 1:
        draws = rng.multinomial(size.size, occurs / size.size, n_draws).astype(np.float64)
        resampled, _, won = of(draws)
        often = won.mean(axis=0).tolist()
        for number, values in enumerate(resampled.T):
            intervals[number] = percentile_interval(
                values,
                level=level,
                method="item bootstrap",
                n_items=size.size,
                rng=rng,
                value=float(accuracy[number]),
            )
    mixes = [
        Mix(
            way.policy,
            way.people,
            way.threshold,
            float(price[i]),
            float(accuracy[i]),
            intervals[i],
            bool(best[i]),
            often[i],
        )
        for i, way in enumerate(ways)
    ]
    return tuple(sorted(mixes, key=lambda mix: (mix.price, -mix.accuracy)))


@dataclass(frozen=True, eq=False)
class _Way:
    """A labelling policy, its outcome and whether people are asked, by kind of item."""

    policy: Policy
    people: int
    threshold: float | None
    outcome: FloatArray
    asked: FloatArray


def _ways(
    right: IntArray, size: IntArray, judge_right: IntArray, stated: FloatArray, tried: FloatArray
) -> list[_Way]:
    always, alone = np.ones(right.size), judge_right.astype(np.float64)
    ways = [_Way("judge", 0, None, alone, np.zeros(right.size))]
    for k in range(1, int(size.min()) + 1):
        crowd = majority_of_some(right, size, k)
        ways.append(_Way("people", k, None, crowd, always))
        joint = _with_judge(right, size, judge_right, k)
        ways.append(_Way("judge and people", k, None, joint, always))
        for threshold in tried.tolist():
            handed = ~(stated >= threshold)
            outcome = np.where(handed, crowd, alone)
            ways.append(
                _Way("judge, then people", k, threshold, outcome, handed.astype(np.float64))
            )
    return ways


def _with_judge(
    right: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    judge_right: npt.NDArray[np.int64],
    k: int,
) -> FloatArray:
    """Majority of k people and the judge; a tie counts one half."""
    # Of k + 1 votes, j + judge_right are right; more than half win, exactly half tie.
    needed = (k + 1) / 2 - judge_right
    whole = np.floor(needed)
    wins = stats.hypergeom.sf(whole, size, right, k)
    ties = np.where(needed == whole, stats.hypergeom.pmf(whole, size, right, k), 0.0)
    return np.asarray(wins + 0.5 * ties, dtype=np.float64)


def _best(accuracy: FloatArray, price: FloatArray) -> BoolArray:
    """Policies that no cheaper or equally cheap one matches, in each row."""
    order = np.lexsort((-accuracy, price), axis=1)
    ascending = np.take_along_axis(accuracy, order, axis=1)
    before = np.maximum.accumulate(ascending, axis=1)[:, :-1]
    better = np.ones(ascending.shape, dtype=np.bool_)
    better[:, 1:] = ascending[:, 1:] > before + 1e-12
    best = np.empty_like(better)
    np.put_along_axis(best, order, better, axis=1)
    return best
