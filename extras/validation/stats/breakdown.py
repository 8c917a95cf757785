"""How many annotators' answers would have to be a machine's to change the verdict."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from math import comb
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from analysis.stats.comparison.general_difference import GeneralDifference, general_differences
from analysis.stats.core.results import BoolArray, FloatArray, IntArray, Reason
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.core.votes import Votes

VerdictState = Literal["better", "worse", "equivalent", "cannot_tell"]
EXACT = 12  # annotators up to which all sets are tried
MOST_SETS = 500  # of one size, tried with more annotators
MOST_STEPS = 300  # annotators that are replaced one after the other
SHARES = (0.05, 0.1, 0.2, 0.3, 0.5)  # of annotators drawn at random
CELLS = 4_000_000  # of a table of sets by items


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


def state_of(found: GeneralDifference, margin: float) -> VerdictState | None:
    """The verdict of a judge's accuracy minus that of people."""
    if found.interval is None or found.narrow is None:
        return None
    if found.interval.low > 0:
        return "better"
    if found.interval.high < 0:
        return "worse"
    is_within = found.narrow.low > -margin and found.narrow.high < margin
    return "equivalent" if is_within else "cannot_tell"


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
    given = _Contest.of(votes, np.asarray(judge), np.asarray(truth), np.asarray(pasted), sharing)
    if given.n == 0:
        return BreakdownPoint(None, reason="empty_group")
    [before] = given.results(np.zeros((1, given.people)), margin)
    state = state_of(before, margin)
    if state is None:
        return BreakdownPoint(None, reason=before.interval_reason or before.reason)
    smallest, tried = _smallest(given, margin, state)
    found = smallest
    if smallest is None and given.people > EXACT:
        found = _greedy(given, margin, state, suspects)
    low = len(smallest) if smallest is not None else tried + 1
    becomes = None
    if found is not None:
        [after] = given.results(given.as_rows([found]), margin)
        becomes = state_of(after, margin)
    return BreakdownPoint(
        state,
        low if found is not None or given.people > EXACT else None,
        None if found is None else len(found),
        becomes,
        () if found is None else tuple(int(given.names[one]) for one in found),
        _curve(given, margin, state, rng, n_draws),
    )


@dataclass(frozen=True, eq=False)
class _Contest:
    """The items that count, and how each annotator's replacement changes their votes."""

    item: IntArray
    annotator: IntArray
    choice: IntArray
    pasted: IntArray
    names: IntArray
    truth: IntArray
    judged: FloatArray
    n_options: int
    sharing: Sharing

    @classmethod
    def of(
        cls, votes: Votes, judge: IntArray, truth: IntArray, pasted: IntArray, sharing: Sharing
    ) -> "_Contest":
        answered = np.bincount(votes.item, minlength=truth.size) > 0
        kept = np.flatnonzero((judge >= 0) & (truth >= 0) & answered)
        place = np.full(truth.size, -1)
        place[kept] = np.arange(kept.size)
        rows = place[votes.item] >= 0
        names, annotator = np.unique(votes.annotator[rows], return_inverse=True)
        item, choice = votes.item[rows], votes.choice[rows]
        other = pasted[item]
        return cls(
            place[item],
            annotator,
            choice,
            np.where(other >= 0, other, choice),
            names,
            truth[kept],
            (judge[kept] == truth[kept]).astype(np.float64),
            max(votes.n_options, int(pasted.max(initial=0)) + 1, int(truth.max(initial=0)) + 1),
            sharing.take(kept),
        )

    @property
    def n(self) -> int:
        return self.truth.size

    @property
    def people(self) -> int:
        return self.names.size

    @cached_property
    def counts(self) -> IntArray:
        """Votes by item and option, shape (n, options)."""
        found = np.zeros((self.n, self.n_options), dtype=np.int64)
        np.add.at(found, (self.item, self.choice), 1)
        return found

    @cached_property
    def changes(self) -> sparse.csr_array:
        """Change of the votes by annotator, shape (people, n * options)."""
        rows = np.tile(self.annotator, 2)
        cells = np.concatenate([self.choice, self.pasted]) + np.tile(self.item * self.n_options, 2)
        signs = np.repeat([-1.0, 1.0], self.item.size)
        return sparse.csr_array(
            (signs, (rows, cells)), shape=(self.people, self.n * self.n_options)
        )

    def as_rows(self, sets: Sequence[Sequence[int]]) -> FloatArray:
        """Sets of annotators as rows of zeros and ones."""
        rows = np.zeros((len(sets), self.people))
        for row, members in enumerate(sets):
            rows[row, list(members)] = 1.0
        return rows

    def credit(self, counts: npt.NDArray[np.number], truth: IntArray) -> FloatArray:
        """What the majority of these votes is worth: 1 right, 0 wrong, a share of a tie."""
        top = counts == counts.max(axis=-1, keepdims=True)
        right = np.take_along_axis(top, np.broadcast_to(truth, top.shape[:-1])[..., None], axis=-1)
        return np.asarray(right[..., 0] / top.sum(axis=-1), dtype=np.float64)

    def results(self, sets: FloatArray, margin: float) -> Iterator[GeneralDifference]:
        """The difference with each set of annotators replaced."""
        at_once = max(1, CELLS // (self.n * self.n_options))
        for start in range(0, len(sets), at_once):
            changed = sets[start : start + at_once] @ self.changes
            counts = self.counts + changed.reshape(-1, self.n, self.n_options)
            gaps = self.judged - self.credit(counts, self.truth)
            yield from general_differences(gaps, self.sharing, margin=margin)


def _smallest(
    given: _Contest, margin: float, state: VerdictState
) -> tuple[tuple[int, ...] | None, int]:
    """The first smallest set that changes the verdict, and the largest size that was tried."""
    tried = 0
    for size in range(1, given.people + 1):
        if given.people > EXACT and comb(given.people, size) > MOST_SETS:
            break
        sets = combinations(range(given.people), size)
        while batch := list(islice(sets, 256)):
            for members, found in zip(
                batch, given.results(given.as_rows(batch), margin), strict=True
            ):
                if state_of(found, margin) != state:
                    return members, size
        tried = size
    return None, tried


def _greedy(
    given: _Contest, margin: float, state: VerdictState, suspects: Sequence[bool]
) -> tuple[int, ...] | None:
    """A set that changes the verdict, found by influence; None if there is none."""
    suspected = np.zeros(given.people, dtype=np.bool_)
    if suspects:
        suspected = np.asarray(suspects, dtype=np.bool_)[given.names]
    sets = [_followed(given, margin, state, suspected, sign) for sign in (1.0, -1.0)]
    return min((each for each in sets if each is not None), key=len, default=None)


def _followed(
    given: _Contest, margin: float, state: VerdictState, suspected: BoolArray, sign: float
) -> tuple[int, ...] | None:
    chosen: list[int] = []
    counts, left = given.counts.copy(), np.ones(given.people, dtype=np.bool_)
    rows = np.arange(given.item.size)
    truth, differs = given.truth[given.item], given.choice != given.pasted
    hits = (given.pasted == truth).astype(float) - (given.choice == truth)
    while len(chosen) < min(given.people, MOST_STEPS):
        moved = counts[given.item]
        before = given.credit(moved, truth)
        moved[rows, given.choice] -= 1
        moved[rows, given.pasted] += 1
        # Votes that change no majority yet still prepare for the next ones.
        gain = np.where(differs, given.credit(moved, truth) - before + 0.01 * hits, 0.0)
        influence = sign * np.bincount(given.annotator, gain, given.people)
        influence = np.where(left, influence + 1e-9 * suspected, -np.inf)
        one = int(influence.argmax())
        chosen.append(one)
        left[one] = False
        own = given.annotator == one
        np.add.at(counts, (given.item[own], given.choice[own]), -1)
        np.add.at(counts, (given.item[own], given.pasted[own]), 1)
        if _changes(given, chosen, margin, state):
            return _pruned(given, chosen, margin, state)
    return None


def _changes(given: _Contest, members: Sequence[int], margin: float, state: VerdictState) -> bool:
    [found] = given.results(given.as_rows([members]), margin)
    return state_of(found, margin) != state


def _pruned(
    given: _Contest, members: Sequence[int], margin: float, state: VerdictState
) -> tuple[int, ...]:
    kept = list(members)
    for one in members:
        fewer = [each for each in kept if each != one]
        if fewer and _changes(given, fewer, margin, state):
            kept = fewer
    return tuple(kept)


def _curve(
    given: _Contest, margin: float, state: VerdictState, rng: np.random.Generator, n_draws: int
) -> tuple[tuple[float, int, float], ...]:
    points = []
    for share in SHARES:
        size = max(1, round(share * given.people))
        order = np.argsort(rng.random((n_draws, given.people)), axis=1)[:, :size]
        found = given.results(given.as_rows(order.tolist()), margin)
        changed = [state_of(each, margin) != state for each in found]
        points.append((share, size, float(np.mean(changed))))
    return tuple(points)
