"""Quality measures of each annotator: signs to look at, not grounds for rejection."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.proportions import wilson_proportion
from ..core.results import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Proportion,
    Reason,
    mid_ranks,
    relabel,
)
from ..core.votes import Votes


@dataclass(frozen=True)
class AnnotatorQuality:
    """Measures of one annotator.

    Attributes
    ----------
    annotator : int
        Code in the votes.
    n : int
        Answers.
    accuracy : Proportion
        Against the truth, with Wilson's interval, because these are one person's items.
    majority_agreement : Proportion
        Answers equal to the majority of the *other* annotators of the item.
    others_tied : int
        Answers left out of `majority_agreement` because the others are tied or missing.
    pair_agreement : Estimate
        Mean share of the other annotators of an item who gave the same answer.
    certainty_mean, certainty_sd : Estimate
        Of the given certainties; sd with ``ddof=1``.
    certainty_auroc : Estimate
        Probability that a right answer is more certain than a wrong one; ties count half.
    favourite_share : Estimate
        Share of the option chosen most.
    longest_run : int
        Longest run of answers on the same side of the screen, in the order they were given;
        0 if sides are not known.
    median_seconds : Estimate
        Median time on an item.
    """

    annotator: int
    n: int
    accuracy: Proportion
    majority_agreement: Proportion
    others_tied: int
    pair_agreement: Estimate
    certainty_mean: Estimate
    certainty_sd: Estimate
    certainty_auroc: Estimate
    favourite_share: Estimate
    longest_run: int
    median_seconds: Estimate


def annotator_quality(
    votes: Votes,
    truth: npt.ArrayLike | None = None,
    *,
    side: npt.ArrayLike | None = None,
    position: npt.ArrayLike | None = None,
    seconds: npt.ArrayLike | None = None,
) -> list[AnnotatorQuality]:
    """Measure every annotator of a study.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators.
    truth : array_like of int, shape (n_items,), optional
        True option; -1 is unknown.
    side : array_like of int, shape (n,), optional
        Side of the screen that was chosen, one per vote; -1 is unknown and ends a run.
    position : array_like of int, shape (n,), optional
        Order in which an annotator saw the items; by default the order of the rows.
    seconds : array_like of float, shape (n,), optional
        Time on the item; NaN is missing.

    Returns
    -------
    list of AnnotatorQuality
        One per annotator code, in order, also for those without an answer.

    Raises
    ------
    ValueError
        If an array has another length than the votes or items.

    Notes
    -----
    The majority of the others excludes the annotator's own vote, which would count agreement with
    oneself. AUROC is the Mann-Whitney statistic over right and wrong answers, None if all are right
    or all are wrong.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 0]], [[90, 80, 99]] * 3)
    >>> [(q.majority_agreement.correct, q.majority_agreement.n) for q in annotator_quality(votes)]
    [(1, 1), (1, 1), (1, 3)]
    """
    truths = np.full(votes.n_items, -1) if truth is None else np.asarray(truth, dtype=np.int64)
    if truths.shape != (votes.n_items,):
        raise ValueError(f"`truth` has {truths.size} items, `votes` has {votes.n_items}.")
    sides = _per_vote("side", side, votes, -1.0)
    order = _per_vote("position", position, votes, 0.0)
    times = _per_vote("seconds", seconds, votes, np.nan)

    known = ((truths >= 0) & (truths < votes.n_options))[votes.item]
    right = votes.choice == truths[votes.item]
    majority, equal_share = _others(votes)
    # A stable sort keeps rows of one position in the order they came.
    rows = np.lexsort((np.arange(votes.n), order, votes.annotator))
    own = _ByAnnotator(votes.annotator[rows], votes.n_annotators)
    right, known = right[rows], known[rows]
    choice, certainty, others = votes.choice[rows], votes.certainty[rows], majority[rows]
    has_others = others >= 0
    n, n_known, n_judged = own.count(), own.count(known), own.count(has_others)
    n_right, n_equal = own.count(known & right), own.count(has_others & (choice == others))
    favourite = np.max([own.count(choice == option) for option in range(votes.n_options)], axis=0)
    means = own.each(np.mean, certainty)
    spreads = own.each(partial(np.std, ddof=1), certainty, at_least=2)
    shares = own.each(np.mean, equal_share[rows])
    medians = own.each(np.median, times[rows])
    areas = _auroc(own, np.where(known, certainty, np.nan), right)
    runs = own.longest_run(sides[rows])
    return [
        AnnotatorQuality(
            annotator=annotator,
            n=int(n[annotator]),
            accuracy=_proportion(int(n_right[annotator]), int(n_known[annotator])),
            majority_agreement=_proportion(int(n_equal[annotator]), int(n_judged[annotator])),
            others_tied=int(n[annotator] - n_judged[annotator]),
            pair_agreement=_estimate(shares[annotator]),
            certainty_mean=_estimate(means[annotator]),
            certainty_sd=_estimate(spreads[annotator], "too_few_items"),
            certainty_auroc=areas[annotator],
            favourite_share=Estimate(float(favourite[annotator]) / int(n[annotator]))
            if n[annotator]
            else Estimate(None, "empty_group"),
            longest_run=int(runs[annotator]),
            median_seconds=_estimate(medians[annotator]),
        )
        for annotator in range(votes.n_annotators)
    ]


@dataclass(frozen=True, eq=False)
class _ByAnnotator:
    """Rows that are sorted by annotator."""

    annotator: IntArray
    n_annotators: int

    def count(self, chosen: BoolArray | slice = slice(None)) -> IntArray:
        """Number of chosen rows per annotator."""
        return np.bincount(self.annotator[chosen], minlength=self.n_annotators)

    def groups(self, chosen: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
        """Annotators with equal numbers of chosen rows, and those rows, shape (annotators, rows).

        A statistic of a matrix costs as much as that of a single annotator.
        """
        rows = np.flatnonzero(chosen)
        n = self.count(chosen)
        starts = np.cumsum(n) - n
        for size in np.flatnonzero(np.bincount(n)).tolist():
            annotators = np.flatnonzero(n == size)
            yield annotators, rows[starts[annotators][:, None] + np.arange(size)]

    def each(
        self,
        statistic: Callable[..., Any],
        values: FloatArray,
        *,
        at_least: int = 1,
    ) -> FloatArray:
        """The statistic of each annotator's known values; NaN with fewer than `at_least`."""
        estimates = np.full(self.n_annotators, np.nan)
        for annotators, rows in self.groups(~np.isnan(values)):
            if rows.shape[1] >= at_least:
                estimates[annotators] = statistic(values[rows], axis=1)
        return estimates

    def longest_run(self, sides: FloatArray) -> IntArray:
        """Each annotator's longest run on one known side."""
        known = sides >= 0
        begins = np.ones(sides.size, dtype=np.bool_)
        begins[1:] = (
            (sides[1:] != sides[:-1])
            | ~known[1:]
            | ~known[:-1]
            | (self.annotator[1:] != self.annotator[:-1])
        )
        run = np.cumsum(begins) - 1
        length = np.bincount(run, known)
        longest = np.zeros(self.n_annotators, dtype=np.int64)
        np.maximum.at(longest, self.annotator[begins], length.astype(np.int64))
        return longest


def _others(votes: Votes) -> tuple[IntArray, FloatArray]:
    """For each vote: majority of the item's other votes (-1: tied or none), and their share alike.

    A repeated reading by the same annotator does not count as another vote.
    """
    own = votes.item * votes.n_annotators + votes.annotator
    own, n_cells = relabel(own)
    cell = own * votes.n_options + votes.choice
    mine = np.bincount(cell, minlength=n_cells * votes.n_options).reshape(n_cells, votes.n_options)
    rest = votes.counts()[votes.item] - mine[own]
    best = rest.max(axis=1, keepdims=True, initial=0)
    single = ((rest == best).sum(axis=1) == 1) & (best[:, 0] > 0)
    n_rest = rest.sum(axis=1)
    alike = rest[np.arange(votes.n), votes.choice]
    share = np.full(votes.n, np.nan)
    np.divide(alike, n_rest, out=share, where=n_rest > 0)
    return np.where(single, rest.argmax(axis=1), -1), share


def _auroc(own: _ByAnnotator, certainty: FloatArray, right: BoolArray) -> list[Estimate]:
    """AUROC of each annotator over the rows with a certainty."""
    estimates = [Estimate(None, "empty_group")] * own.n_annotators
    for annotators, rows in own.groups(~np.isnan(certainty)):
        if not rows.size:
            continue
        is_right = right[rows]
        n_right = is_right.sum(axis=1)
        n_wrong = rows.shape[1] - n_right
        # All are ranked as one row, in which each annotator follows the one before.
        values, code = np.unique(certainty[rows].ravel(), return_inverse=True)
        before = np.arange(rows.shape[0])[:, np.newaxis]
        apart = code.reshape(rows.shape) + before * values.size
        ranks = mid_ranks(apart.ravel().astype(np.float64)).reshape(rows.shape)
        ranks = np.where(is_right, ranks - before * rows.shape[1], 0.0).sum(axis=1)
        above = ranks - n_right * (n_right + 1) / 2
        for annotator, won, pairs in zip(
            annotators.tolist(), above.tolist(), (n_right * n_wrong).tolist(), strict=True
        ):
            estimates[annotator] = (
                Estimate(won / pairs) if pairs else Estimate(None, "no_variation")
            )
    return estimates


@lru_cache(maxsize=4096)  # many annotators have the same numbers
def _proportion(correct: int, n: int) -> Proportion:
    return wilson_proportion(np.arange(n) < correct)


def _estimate(value: np.float64, reason: Reason = "empty_group") -> Estimate:
    return Estimate(None, reason) if np.isnan(value) else Estimate(float(value))


def _per_vote(name: str, values: npt.ArrayLike | None, votes: Votes, missing: float) -> FloatArray:
    if values is None:
        return np.full(votes.n, missing)
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (votes.n,):
        raise ValueError(f"`{name}` must have one value per vote ({votes.n}), got {array.shape}.")
    return array
