"""People, a judge, or both: what each way of labelling gets right, and at what price."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from .results import FloatArray
from .votes import Votes
from .worth import majority_of_some, people_and_judge

Policy = Literal["judge", "people", "judge and people", "judge, then people"]


@dataclass(frozen=True)
class Mix:
    """One way of labelling.

    Attributes
    ----------
    policy : str
        ``"judge"`` alone; ``"people"``: the majority of `people`; ``"judge and people"``: the
        judge votes as one of them; ``"judge, then people"``: the majority of `people` where the
        judge is less certain than `threshold`.
    people : int
        People asked about an item that people are asked about.
    threshold : float or None
        Of the last policy.
    price : float
        Mean price of an item.
    accuracy : float
        Expected accuracy on these items, a tie counting one half.
    best : bool
        Whether nothing that costs as little is more accurate.
    """

    policy: Policy
    people: int
    threshold: float | None
    price: float
    accuracy: float
    best: bool


def price_mixes(
    votes: Votes,
    judge: npt.ArrayLike,
    certainty: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    price_person: float,
    price_judge: float,
    thresholds: npt.ArrayLike = (60, 70, 80, 90),
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
        Right option, -1 none.
    price_person, price_judge : float
        Of one answer, in any currency, not negative.
    thresholds : array_like of float, default (60, 70, 80, 90)
        Certainties tried for handing an item to people. They have to be chosen beforehand; the
        best of many is too good to be true.

    Returns
    -------
    tuple of Mix
        By price, then accuracy; empty without an item that has a truth, the judge's answer
        and at least two people. Numbers of people go up to the fewest that any of these items has.

    Raises
    ------
    ValueError
        If lengths differ, a price is negative or there are more than two options.

    Notes
    -----
    The accuracy of k people is the exact mean over all choices of k of those of the item, as in
    `worth_in_people`. These are accuracies on these items, without intervals: a choice
    between policies wants other items to confirm it.

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
    right, size, judge_right = people_and_judge(votes, judge, truth)
    if size.size == 0:
        return ()
    usable = (votes.counts().sum(axis=1) >= 2) & (np.asarray(judge) >= 0)
    stated = stated[usable & np.isin(np.asarray(truth), (0, 1))]

    mixes = [Mix("judge", 0, None, price_judge, float(judge_right.mean()), best=False)]
    for k in range(1, int(size.min()) + 1):
        crowd = majority_of_some(right, size, k)
        price = k * price_person
        mixes.append(Mix("people", k, None, price, float(crowd.mean()), best=False))
        joint = _with_judge(right, size, judge_right, k)
        mixes.append(
            Mix("judge and people", k, None, price_judge + price, float(joint.mean()), best=False)
        )
        for threshold in np.asarray(thresholds, dtype=np.float64).tolist():
            handed = ~(stated >= threshold)
            accuracy = float(np.where(handed, crowd, judge_right).mean())
            cost = price_judge + float(handed.mean()) * price
            mixes.append(Mix("judge, then people", k, threshold, cost, accuracy, best=False))
    return _mark_best(sorted(mixes, key=lambda mix: (mix.price, -mix.accuracy)))


def _with_judge(
    right: npt.NDArray[np.int64],
    size: npt.NDArray[np.int64],
    judge_right: npt.NDArray[np.int64],
    k: int,
) -> FloatArray:
    """Majority of k people and the judge, a tie counting one half."""
    drawn = stats.hypergeom(size, right, k)
    # Of k + 1 votes, j + judge_right are right; more than half win, exactly half tie.
    needed = (k + 1) / 2 - judge_right
    wins = drawn.sf(np.floor(needed))
    ties = np.where(needed == np.floor(needed), drawn.pmf(np.floor(needed)), 0.0)
    return np.asarray(wins + 0.5 * ties, dtype=np.float64)


def _mark_best(mixes: list[Mix]) -> tuple[Mix, ...]:
    """Mark what no cheaper or equally cheap mix reaches."""
    marked, reached = [], -1.0
    for mix in mixes:
        better = mix.accuracy > reached + 1e-12
        marked.append(replace(mix, best=better))
        reached = max(reached, mix.accuracy)
    return tuple(marked)
