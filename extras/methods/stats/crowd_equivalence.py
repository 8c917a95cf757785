"""Crowd equivalence: the number of people whose majority is as accurate as a judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from analysis.stats.core.bootstrap import distinct_rows, percentile_interval
from analysis.stats.core.results import (
    BoolArray,
    FloatArray,
    Interval,
    Reason,
    check_level,
    seed_of,
)
from analysis.stats.core.votes import Votes

CrowdPlace = Literal["below one", "between", "above any"]

MAX_PEOPLE = 101


@dataclass(frozen=True)
class CrowdPoint:
    """Accuracy of the majority of some number of people.

    Attributes
    ----------
    k : int
        People per item.
    accuracy : float
        Expected accuracy of their majority; a tie counts one half.
    n_items : int
        Items counted; 0 for a prediction of the fitted model.
    """

    k: int
    accuracy: float
    n_items: int


@dataclass(frozen=True)
class CrowdEquivalence:
    """Crowd equivalence of a judge.

    Attributes
    ----------
    people : float or None
        k whose majority is as accurate as the judge, interpolated between odd numbers; None if
        there is none.
    place : str or None
        ``"between"`` if `people` is defined. ``"below one"``: less accurate than one person.
        ``"above any"``: more accurate than the majority of 101, which shared mistakes limit.
    interval : Interval or None
        Item-bootstrap percentiles of `people`, if both ends are finite.
    low, high : float or None
        The same with open ends: `low` is None if the judge may be worth less than one person,
        `high` if it may be worth more than 101.
    judge_accuracy, ceiling : float or None
        Accuracy of the judge on the items used, and of the majority of infinitely many people.
    curve : tuple of CrowdPoint
        k = 1, 3, 5 and so on, as far as needed.
    n_items, n_draws : int
        Items with a truth, the judge's answer and at least two people; resamples.
    seed : int or None
    reason : str or None
        ``"too_few_items"`` below two items; ``"not_identified"`` if `people` is None because
        of `place`.
    """

    people: float | None
    place: CrowdPlace | None
    interval: Interval | None
    low: float | None
    high: float | None
    judge_accuracy: float | None
    ceiling: float | None
    curve: tuple[CrowdPoint, ...]
    n_items: int
    n_draws: int
    seed: int | None
    reason: Reason | None = None


def majority_of_some(right: npt.ArrayLike, n: npt.ArrayLike, k: int) -> FloatArray:
    r"""Probability that the majority of `k` people drawn from an item's people is right.

    Parameters
    ----------
    right, n : array_like of int, shape (n_items,)
        Right answers and all answers of each item, with two options; ``n >= k``.
    k : int
        People drawn without replacement.

    Returns
    -------
    ndarray of float, shape (n_items,)
        Exact; a tie counts one half.

    Notes
    -----
    :math:`P(H>k/2)+\frac12P(H=k/2)` for H hypergeometric: the mean over all
    :math:`\binom{n}{k}` choices of people, without drawing any.

    Examples
    --------
    >>> majority_of_some([3, 2, 1], [3, 3, 3], 2).round(4).tolist()
    [1.0, 0.6667, 0.3333]
    """
    correct, size = np.asarray(right, dtype=np.int64), np.asarray(n, dtype=np.int64)
    if k < 1 or (size < k).any() or (correct > size).any() or correct.min(initial=0) < 0:
        raise ValueError(f"`k` must lie in 1..`n` and `right` in 0..`n`, got k = {k}.")
    value = stats.hypergeom.sf(k // 2, size, correct, k)
    if k % 2 == 0:
        value = value + 0.5 * stats.hypergeom.pmf(k // 2, size, correct, k)
    return np.asarray(value, dtype=np.float64)


def crowd_equivalence(
    votes: Votes,
    judge: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    n_draws: int = 1000,
    level: float = 0.95,
) -> CrowdEquivalence:
    r"""Number of people whose majority is as accurate as a judge on the same items.

    Parameters
    ----------
    votes : Votes
        Choices of people between two options.
    judge : array_like of int, shape (n_items,)
        The judge's choice, -1 missing.
    truth : array_like of int, shape (n_items,)
        True option; -1 is unknown.
    rng : numpy.random.Generator
        Source of randomness; its seed is stored.
    n_draws : int, default 1000
        Resamples of items.
    level : float, default 0.95

    Returns
    -------
    CrowdEquivalence

    Raises
    ------
    ValueError
        If lengths differ, there are more than two options, or a number is out of range.

    Notes
    -----
    If every item has at least k people, the accuracy of k is the exact mean over all choices of k.
    Beyond that, each item has a probability p of a right answer that follows a beta distribution
    over items, fitted by moments: the mean of p is the accuracy of one person, the mean of
    :math:`p^2` the probability that two are both right, each averaged within items. The majority of
    infinitely many is right where p > 1/2: the ceiling. If items do not differ at all, p is one
    number.

    Resampling items keeps judge and people together. People count as a random sample; if few people
    answered everything, the interval is conditional on them.

    Examples
    --------
    >>> rng = np.random.default_rng(2)
    >>> ease = rng.beta(4, 2, 1000)
    >>> people = (rng.random((1000, 5)) > ease[:, None]).astype(int)
    >>> judge = (rng.random((1000, 5)) > ease[:, None]).sum(axis=1) > 2  # five other people
    >>> result = crowd_equivalence(
    ...     Votes.from_matrix(people), judge.astype(int), np.zeros(1000, dtype=int), rng=rng
    ... )
    >>> result.place, result.low < 5 < result.high
    ('between', True)
    """
    check_level(level)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    right, size, judge_right = people_and_judge(votes, judge, truth)
    n = int(size.size)
    if n < 2:
        return CrowdEquivalence(
            *(None,) * 7,
            curve=(),
            n_items=n,
            n_draws=n_draws,
            seed=seed_of(rng),
            reason="too_few_items",
        )
    rows = np.stack([right, size, judge_right], axis=1)
    found, occurs = distinct_rows(rows)
    distinct = found.astype(np.int64)
    smallest = int(size.min())
    steps = _people()
    counted = np.stack(
        [majority_of_some(distinct[:, 0], distinct[:, 1], k) for k in steps if k <= smallest]
    )
    draws = rng.multinomial(n, occurs / n, n_draws).astype(np.float64)
    weights = np.vstack([occurs[None, :].astype(np.float64), draws])
    curves = _curves(weights, distinct, counted, steps)
    accuracy = weights @ distinct[:, 2] / n
    people = _invert(curves, accuracy, steps)

    observed = float(people[0])
    place: CrowdPlace = "between"
    if np.isinf(observed):
        place = "above any" if observed > 0 else "below one"
    tails = np.quantile(people[1:], [(1 - level) / 2, (1 + level) / 2], method="nearest")
    low, high = (float(end) if np.isfinite(end) else None for end in tails)
    interval = None
    if np.isfinite(people).all():
        interval = percentile_interval(
            people[1:], level=level, method="item bootstrap", n_items=n, rng=rng, value=observed
        )
    moments = _moments(weights[:1], distinct)
    return CrowdEquivalence(
        people=observed if place == "between" else None,
        place=place,
        interval=interval,
        low=low,
        high=high,
        judge_accuracy=float(accuracy[0]),
        ceiling=float(_ceiling(*moments)[0]),
        curve=tuple(
            CrowdPoint(k, float(curves[0, i]), n if k <= smallest else 0)
            for i, k in enumerate(steps)
            if k <= max(smallest, 9)
        ),
        n_items=n,
        n_draws=n_draws,
        seed=seed_of(rng),
        reason=None if place == "between" else "not_identified",
    )


def people_and_judge(
    votes: Votes, judge: npt.ArrayLike, truth: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Right answers, all answers and whether the judge is right, for items that have all three."""
    if votes.n_options != 2:
        raise ValueError(f"The comparison is for two options, `votes` has {votes.n_options}.")
    choice, truths = np.asarray(judge, dtype=np.int64), np.asarray(truth, dtype=np.int64)
    if not choice.shape == truths.shape == (votes.n_items,):
        raise ValueError(
            "`judge` and `truth` must have one value per item, got "
            f"{choice.size} and {truths.size} of {votes.n_items}."
        )
    counts = votes.counts()
    size = counts.sum(axis=1)
    items = np.flatnonzero((size >= 2) & (choice >= 0) & np.isin(truths, (0, 1)))
    judge_right = (choice[items] == truths[items]).astype(np.int64)
    return counts[items, truths[items]], size[items], judge_right


def _people() -> list[int]:
    return list(range(1, MAX_PEOPLE + 1, 2))


def _moments(weights: FloatArray, rows: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Mean of p and of p squared over items, per resample."""
    right, m = rows[:, 0].astype(np.float64), rows[:, 1].astype(np.float64)
    n = weights.sum(axis=1)
    return weights @ (right / m) / n, weights @ (right * (right - 1) / (m * (m - 1))) / n


def _curves(
    weights: FloatArray,
    rows: npt.NDArray[np.int64],
    counted: FloatArray,
    steps: Sequence[int],
) -> FloatArray:
    """Accuracy of the majority of each number of people, shape (n_draws, n_steps)."""
    exact = weights @ counted.T / weights.sum(axis=1, keepdims=True)
    predicted = _predicted(*_moments(weights, rows), steps[counted.shape[0] :])
    return np.hstack([exact, predicted])


def _shape(mean: FloatArray, square: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Parameters of the beta distribution, and the rows without one, where p does not vary."""
    variance = square - mean**2
    most = mean * (1 - mean)
    # Between the smallest and the largest variance that a distribution on [0, 1] can have.
    share = np.divide(variance, most, out=np.zeros_like(mean), where=most > 0)
    fixed = share < 1e-6
    total = 1 / np.clip(share, 1e-6, 1 - 1e-6) - 1
    a, b = np.maximum(mean * total, 1e-9), np.maximum((1 - mean) * total, 1e-9)
    return np.asarray(a), np.asarray(b), np.asarray(fixed)


def _predicted(mean: FloatArray, square: FloatArray, steps: Sequence[int]) -> FloatArray:
    a, b, fixed = _shape(mean, square)
    columns = []
    accuracy, whole = a / (a + b), special.betaln(a, b)
    for k in range(1, max(steps, default=0) + 1, 2):
        if k > 1:
            # Two more people change a majority of k - 2 only if it depends on one vote:
            # C(k-2, m-1) (p^(m+1) q^m - p^m q^(m+1)) with k = 2 m + 1, its mean over the beta.
            m = k // 2
            log_choose = -np.log(k - 1) - special.betaln(m, m + 1)
            gained = special.betaln(a + m + 1, b + m) - whole
            lost = special.betaln(a + m, b + m + 1) - whole
            accuracy = accuracy + np.exp(log_choose + gained) - np.exp(log_choose + lost)
        if k in steps:
            columns.append(np.where(fixed, stats.binom.sf(k // 2, k, mean), accuracy))
    return np.stack(columns, axis=1) if columns else np.empty((mean.size, 0))


def _ceiling(mean: FloatArray, square: FloatArray) -> FloatArray:
    a, b, fixed = _shape(mean, square)
    return np.where(fixed, 0.5 + 0.5 * np.sign(mean - 0.5), special.betainc(b, a, 0.5))


def _invert(curves: FloatArray, accuracy: FloatArray, steps: Sequence[int]) -> FloatArray:
    """Smallest k at which the curve reaches the accuracy; infinite outside the curve."""
    reached = curves >= accuracy[:, None] - 1e-12
    first = reached.argmax(axis=1)
    rows = np.arange(len(curves))
    before = np.maximum(first - 1, 0)
    low, high = curves[rows, before], curves[rows, first]
    k = np.asarray(steps, dtype=np.float64)
    rise = high - low
    part = np.divide(accuracy - low, rise, out=np.ones_like(rise), where=rise > 0)
    people = k[before] + np.clip(part, 0, 1) * (k[first] - k[before])
    people = np.where(accuracy < curves[:, 0] - 1e-12, -np.inf, people)
    return np.where(reached.any(axis=1), people, np.inf)
