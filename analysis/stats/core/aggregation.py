"""One answer per item from the answers of several people."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from .results import BoolArray, FloatArray, IntArray
from .votes import Votes

TiePolicy = Literal["exclude", "half", "certainty", "random"]


@dataclass(frozen=True, eq=False)
class MajorityVote:
    """Majority answer of each item.

    Attributes
    ----------
    votes : Votes
        The votes that were counted.
    counts : ndarray of int, shape (n_items, n_options)
        Votes per option, unweighted also for the certainty-weighted vote.
    answer : ndarray of int, shape (n_items,)
        Winning option; -1 without votes or with a tie.
    certainty : ndarray of float, shape (n_items,)
        Mean certainty of the votes for the answer, missing ones ignored; NaN without an answer
        or if none of those votes has a certainty.
    tied : ndarray of bool, shape (n_items, n_options)
        The tied options; all false without a tie. A tie broken by the rule keeps its row.
    share : ndarray of float, shape (n_items,)
        Share of the votes for the most chosen option; NaN without votes.
    ties : str
        The rule for ties.
    """

    votes: Votes
    counts: IntArray
    answer: IntArray
    certainty: FloatArray
    tied: BoolArray
    share: FloatArray
    ties: TiePolicy

    @property
    def n_votes(self) -> IntArray:
        """Votes per item, shape (n_items,)."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def undecided(self) -> BoolArray:
        """Items with votes but no single answer, shape (n_items,)."""
        return np.asarray((self.n_votes > 0) & (self.answer < 0))

    @property
    def single(self) -> BoolArray:
        """Items with a single vote, shape (n_items,)."""
        return np.asarray(self.n_votes == 1)

    def credit(self, truth: npt.ArrayLike) -> FloatArray:
        """Credit per item, shape (n_items,): 1 right, 0 wrong, NaN if it does not count.

        With ``"half"``, a tie that contains the truth earns one over the number of
        tied options, and any other tie 0. With every other rule an undecided item is NaN.
        """
        truths = np.asarray(truth, dtype=np.int64)
        known = (truths >= 0) & (truths < self.votes.n_options)
        credit = np.where(self.answer == truths, 1.0, 0.0)
        if self.ties == "half":
            hit = np.take_along_axis(self.tied, np.where(known, truths, 0)[:, None], axis=1)[:, 0]
            n_tied = np.maximum(self.tied.sum(axis=1), 1)
            credit = np.where(self.undecided, hit / n_tied, credit)
            known &= self.n_votes > 0
        else:
            known &= self.answer >= 0
        return np.where(known, credit, np.nan)


def majority_vote(
    votes: Votes, *, ties: TiePolicy = "exclude", rng: np.random.Generator | None = None
) -> MajorityVote:
    r"""Majority answer of every item and the certainty of those who gave it.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators. The tie option (2) is an ordinary option here: two votes for
        it beat one vote for r1.
    ties : {"exclude", "half", "certainty", "random"}, default "exclude"
        The answer to an item with a tie. ``"exclude"``: no answer.
        ``"half"``: no answer, but partial credit (see `MajorityVote.credit`). ``"certainty"``:
        the tied option with the higher mean certainty; still tied, or none given: no answer.
        ``"random"``: one of the tied options, each with equal probability.
    rng : numpy.random.Generator, optional
        Source of randomness; required by ``ties="random"``.

    Returns
    -------
    MajorityVote

    Raises
    ------
    ValueError
        If the rule is unknown, or ``"random"`` has no `rng`.

    Notes
    -----
    The certainty of item i with answer w is
    :math:`\frac{1}{|S|}\sum_{j \in S} c_{ij}`, where S are the annotators who chose w and gave
    a certainty. Other votes do not count, and nothing is rounded before it is compared with
    a threshold.

    References
    ----------
    .. [1] Dong, Hu and Collier, "Can LLM be a Personalized Judge?", 2024.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 1], [0, 1, -1]], [[70, 90, 100], [60, 50, np.nan]])
    >>> result = majority_vote(votes)
    >>> result.answer.tolist(), float(result.certainty[0])
    ([0, -1], 80.0)
    >>> result.tied.tolist()
    [[False, False], [True, True]]
    >>> majority_vote(votes, ties="certainty").answer.tolist()
    [0, 0]
    """
    if ties not in get_args(TiePolicy):
        raise ValueError(f"`ties` must be one of {', '.join(get_args(TiePolicy))}, got {ties!r}.")
    if ties == "random" and rng is None:
        raise ValueError('`ties="random"` needs `rng`.')

    counts = votes.counts()
    answer, tied = single_maximum(counts.astype(np.float64), counts > 0)
    means = mean_certainty(votes)
    if ties == "certainty":
        broken, _ = single_maximum(means, tied & ~np.isnan(means))
        answer = np.where(tied.any(axis=1), broken, answer)
    elif ties == "random" and rng is not None:
        keys = np.where(tied, rng.random(tied.shape), -1.0)
        answer = np.where(tied.any(axis=1), keys.argmax(axis=1), answer)
    return majority_of(votes, counts, answer, tied, means, ties)


@dataclass(frozen=True, eq=False)
class Unanimity:
    """Share of items on which everybody agrees.

    Attributes
    ----------
    unanimous : int
        Items with at least two votes, all for one option.
    n : int
        Items with at least two votes.
    single : int
        Items with one vote.
    """

    unanimous: int
    n: int
    single: int

    @property
    def value(self) -> float | None:
        """Share of unanimous items; None if no item has two votes."""
        return self.unanimous / self.n if self.n else None


def unanimity(votes: Votes) -> Unanimity:
    """Count the items on which all of at least two annotators agree.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators.

    Returns
    -------
    Unanimity
        Counts of items; its `value` is the share, None if no item has two votes.

    Examples
    --------
    >>> unanimity(Votes.from_matrix([[0, 0, 0], [0, 1, 1], [1, -1, -1]])).value
    0.5
    """
    counts = votes.counts()
    n_votes = counts.sum(axis=1)
    several = n_votes >= 2
    return Unanimity(
        unanimous=int((several & (counts.max(axis=1, initial=0) == n_votes)).sum()),
        n=int(several.sum()),
        single=int((n_votes == 1).sum()),
    )


def single_maximum(scores: FloatArray, candidates: BoolArray) -> tuple[IntArray, BoolArray]:
    """Candidate option with the largest score, or -1, and tied options.

    Scores that differ only by rounding are equal: 0.3 + 0.6 ties with 0.9.
    """
    masked = np.where(candidates, scores, -np.inf)
    # With few options, reading columns is faster than reading short rows.
    best = np.full(len(masked), -np.inf)
    for column in masked.T:
        best = np.maximum(best, column)
    shares = candidates & np.isclose(masked, best[:, None], rtol=1e-12, atol=1e-12)
    n_shared, sharing = np.zeros(len(masked), dtype=np.int64), np.full(len(masked), -1)
    for option, shared in enumerate(shares.T):
        n_shared += shared
        sharing[shared] = option
    answer = np.where(n_shared == 1, sharing, -1)
    return answer, shares & (n_shared > 1)[:, None]


def weight_totals(votes: Votes, weights: FloatArray) -> FloatArray:
    """Sum of `weights`, shape (n,), per item and option."""
    cells = np.bincount(
        votes.item * votes.n_options + votes.choice,
        weights,
        minlength=votes.n_items * votes.n_options,
    )
    return cells.reshape(votes.n_items, votes.n_options).astype(np.float64)


def mean_certainty(votes: Votes) -> FloatArray:
    """Mean certainty per item and option, missing ones ignored; NaN where there is none."""
    stated = votes.take(~np.isnan(votes.certainty))
    n = stated.counts()
    totals = weight_totals(stated, stated.certainty)
    return np.asarray(np.divide(totals, n, out=np.full(n.shape, np.nan), where=n > 0))


def majority_of(
    votes: Votes,
    counts: IntArray,
    answer: IntArray,
    tied: BoolArray,
    means: FloatArray,
    ties: TiePolicy,
) -> MajorityVote:
    """The majority with these answers; `means` are certainties per item and option."""
    n_votes = counts.sum(axis=1)
    winner = np.where(answer >= 0, answer, 0)[:, None]
    return MajorityVote(
        votes=votes,
        counts=counts,
        answer=answer,
        certainty=np.where(answer >= 0, np.take_along_axis(means, winner, axis=1)[:, 0], np.nan),
        tied=tied,
        share=np.divide(
            counts.max(axis=1, initial=0),
            n_votes,
            out=np.full(n_votes.shape, np.nan),
            where=n_votes > 0,
        ),
        ties=ties,
    )
