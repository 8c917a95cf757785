"""How many annotators' answers would have to be a machine's to change the verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np
import numpy.typing as npt

from analysis.stats.core.results import BoolArray, Reason
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.core.votes import Votes
from extras.validation.stats.contests import (
    AgainstMajority,
    Contest,
    InsteadOfAPerson,
    PastedRows,
    VerdictState,
)

EXACT = 12  # annotators up to which all sets are tried
MOST_SETS = 500  # of one size, tried with more annotators
MOST_STEPS = 300  # annotators that are replaced one after the other
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)  # of annotators drawn at random


@dataclass(frozen=True)
class BreakdownPoint:
    """The smallest number of replaced annotators that changes the verdict.

    Attributes
    ----------
    state : str or None
        The verdict of the answers as they are; None if there is no interval.
    low, high : int or None
        Bounds of the number, equal if it is exact. `low` is proven: no smaller set changes the
        verdict. `high` is the size of a set that does; None if none was found.
    becomes : str or None
        The verdict with that set.
    found : tuple of int
        Its annotators.
    curve : tuple of (float, int, float)
        Share and number of annotators drawn at random, and how often that changes the verdict.
    reason : str or None
        Why there is nothing.
    """

    state: VerdictState | None
    low: int | None = None
    high: int | None = None
    becomes: VerdictState | None = None
    found: tuple[int, ...] = ()
    curve: tuple[tuple[float, int, float], ...] = ()
    reason: Reason | None = None


def breakdown_point(
    votes: Votes,
    judge: npt.ArrayLike,
    truth: npt.ArrayLike,
    pasted: npt.ArrayLike,
    sharing: Sharing,
    *,
    margin: float = 0.05,
    suspects: Sequence[bool] = (),
    rng: np.random.Generator,
    n_draws: int = 100,
) -> BreakdownPoint:
    """How many annotators must give other answers for another verdict on the judge.

    Parameters
    ----------
    votes : Votes
        Single answers of annotators.
    judge, truth : array_like of int, shape (n_items,)
        The judge's answers, and the right ones; -1 without one.
    pasted : array_like of int, shape (n_items,)
        What a replaced annotator answers; -1 keeps their own answer.
    sharing : Sharing
        What items share, with annotators.
    margin : float, default 0.05
        Of equivalence.
    suspects : sequence of bool, optional
        Annotators who are replaced first among equals.
    rng : numpy.random.Generator
    n_draws : int, default 100
        Random sets for each share of the curve.

    Returns
    -------
    BreakdownPoint

    Notes
    -----
    The verdict compares the judge with the majority on items with a truth, as `general_difference`
    does; a tied vote is worth the share of the tied answers that is right. With up to 12 annotators
    all sets are tried. With more, all sets of a size are tried as long as these are at most 500,
    which gives the lower bound. The upper bound is a set that is found by replacing the annotator
    with the largest influence on the difference, again and again, upwards and downwards, and then
    leaving out members that are not needed.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = np.zeros(60, dtype=int)
    >>> votes = Votes.from_matrix((rng.random((60, 9)) < 0.45).astype(int))
    >>> judge = (rng.random(60) < 0.05).astype(int)
    >>> found = breakdown_point(votes, judge, truth, judge, Sharing.of_items(60, {}), rng=rng)
    >>> found.state, found.low, found.high, found.becomes
    ('better', 3, 3, 'cannot_tell')
    """
    right, judged = np.asarray(truth), np.asarray(judge)
    rows = PastedRows.of(votes, np.asarray(pasted), sharing, (judged >= 0) & (right >= 0), fewest=1)
    n_options = max(votes.n_options, rows.n_options, int(right.max(initial=0)) + 1)
    against = AgainstMajority(rows, judged[rows.kept], n_options, right[rows.kept], margin)
    return _breakdown(against, suspects, rng, n_draws)


def replacement_breakdown(
    votes: Votes,
    judge: npt.ArrayLike,
    pasted: npt.ArrayLike,
    sharing: Sharing,
    *,
    epsilon: float,
    among: int = 1,
    suspects: Sequence[bool] = (),
    rng: np.random.Generator,
    n_draws: int = 100,
) -> BreakdownPoint:
    """How many annotators must give other answers for another verdict without right answers.

    Parameters
    ----------
    votes, judge, pasted, sharing, suspects, rng, n_draws
        As for `breakdown_point`.
    epsilon : float
        Advantage of the judge, as for `pooled_replacement_test`.
    among : int, default 1
        Number of judges from which this one was chosen: its p value is multiplied by it.

    Returns
    -------
    BreakdownPoint

    Notes
    -----
    The verdict is that of `pooled_replacement_test` on items with two answers or more:
    ``"replaceable"``; ``"not_replaceable"`` if an interval of people's advantage is above epsilon;
    otherwise ``"not_settled"``. Bounds are found as for `breakdown_point`; the upper one follows
    the influence on raw and on balanced agreement, and is the smaller of the two.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> better = rng.integers(0, 2, 90)
    >>> people = np.where(rng.random((90, 9)) < 0.75, better[:, None], 1 - better[:, None])
    >>> people[np.arange(9) // 3 != np.arange(90)[:, None] % 3] = -1
    >>> votes, judge = Votes.from_matrix(people), np.where(rng.random(90) < 0.6, better, 0)
    >>> found = replacement_breakdown(
    ...     votes, judge, judge, Sharing.of_items(90, {}), epsilon=0.1, rng=rng
    ... )
    >>> found.state, found.low, found.high, found.becomes
    ('replaceable', 3, 3, 'not_settled')
    """
    judged = np.asarray(judge)
    rows = PastedRows.of(votes, np.asarray(pasted), sharing, judged >= 0, fewest=2)
    n_options = max(votes.n_options, rows.n_options, int(judged.max(initial=0)) + 1)
    decided = np.bincount(judged[judged >= 0], minlength=1)
    same = float(decided.max() / max(decided.sum(), 1))
    instead = InsteadOfAPerson(rows, judged[rows.kept], n_options, epsilon, among, same)
    return _breakdown(instead, suspects, rng, n_draws)


def _breakdown(
    contest: Contest, suspects: Sequence[bool], rng: np.random.Generator, n_draws: int
) -> BreakdownPoint:
    if contest.n == 0:
        return BreakdownPoint(None, reason="empty_group")
    if contest.state is None:
        return BreakdownPoint(None, reason=contest.why_not(contest.found))
    smallest, tried = _smallest(contest)
    fewest = smallest
    if smallest is None and contest.people > EXACT:
        fewest = _greedy(contest, suspects)
    low = len(smallest) if smallest is not None else tried + 1
    return BreakdownPoint(
        contest.state,
        low if fewest is not None or contest.people > EXACT else None,
        None if fewest is None else len(fewest),
        None if fewest is None else next(contest.states([fewest])),
        () if fewest is None else tuple(int(contest.rows.names[one]) for one in fewest),
        _curve(contest, rng, n_draws),
    )


def _smallest(contest: Contest) -> tuple[tuple[int, ...] | None, int]:
    """The first smallest set that changes the verdict, and the largest size that was tried."""
    tried = 0
    for size in range(1, contest.people + 1):
        if contest.people > EXACT and comb(contest.people, size) > MOST_SETS:
            break
        sets = combinations(range(contest.people), size)
        while batch := list(islice(sets, 256)):
            for members, state in zip(batch, contest.states(batch), strict=True):
                if state != contest.state:
                    return members, size
        tried = size
    return None, tried


def _greedy(contest: Contest, suspects: Sequence[bool]) -> tuple[int, ...] | None:
    """A set that changes the verdict, found by influence; None if there is none."""
    suspected = np.zeros(contest.people, dtype=np.bool_)
    if suspects:
        suspected = np.asarray(suspects, dtype=np.bool_)[contest.rows.names]
    sets = [
        _followed(contest, suspected, sign, way)
        for way in range(contest.ways)
        for sign in (1.0, -1.0)
    ]
    return min((members for members in sets if members is not None), key=len, default=None)


def _followed(
    contest: Contest, suspected: BoolArray, sign: float, way: int
) -> tuple[int, ...] | None:
    chosen: list[int] = []
    counts, left = contest.counts.copy(), np.ones(contest.people, dtype=np.bool_)
    rows, own, answer = contest.rows, contest.rows.annotator, np.arange(contest.rows.item.size)
    differs = rows.choice != rows.pasted
    while len(chosen) < min(contest.people, MOST_STEPS):
        moved = counts[rows.item]
        before = contest.value_of(moved, rows.item, way)
        moved[answer, rows.choice] -= 1
        moved[answer, rows.pasted] += 1
        # Votes that change no majority yet still prepare for the next ones.
        gain = contest.value_of(moved, rows.item, way) - before + contest.prepares
        influence = sign * np.bincount(own, np.where(differs, gain, 0.0), contest.people)
        influence = np.where(left, influence + 1e-9 * suspected, -np.inf)
        one = int(influence.argmax())
        chosen.append(one)
        left[one] = False
        at = own == one
        np.add.at(counts, (rows.item[at], rows.choice[at]), -1)
        np.add.at(counts, (rows.item[at], rows.pasted[at]), 1)
        if _changes(contest, chosen):
            return _pruned(contest, chosen)
    return None


def _changes(contest: Contest, members: Sequence[int]) -> bool:
    return next(contest.states([members])) != contest.state


def _pruned(contest: Contest, members: Sequence[int]) -> tuple[int, ...]:
    kept = list(members)
    for one in members:
        fewer = [member for member in kept if member != one]
        if fewer and _changes(contest, fewer):
            kept = fewer
    return tuple(kept)


def _curve(
    contest: Contest, rng: np.random.Generator, n_draws: int
) -> tuple[tuple[float, int, float], ...]:
    points = []
    for share in SHARES:
        size = max(1, round(share * contest.people))
        order = np.argsort(rng.random((n_draws, contest.people)), axis=1)[:, :size]
        changed = [state != contest.state for state in contest.states(order.tolist())]
        points.append((share, size, float(np.mean(changed))))
    return tuple(points)
