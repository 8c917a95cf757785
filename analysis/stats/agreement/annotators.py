"""Quality measures of each annotator: hints to look at, not grounds for rejection."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from ..core.checks import relabel
from ..core.proportions import wilson_proportion
from ..core.results import BoolArray, Estimate, FloatArray, IntArray, Proportion
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
        Against the truth, with Wilson's interval: these are this person's own items.
    majority_agreement : Proportion
        Answers equal to the majority of the *other* annotators of the item.
    others_tied : int
        Answers left out of `majority_agreement` because the others are tied or there are none.
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
    The majority of the others leaves out the annotator's own vote; with it, everybody would
    agree with themselves. AUROC is the Mann-Whitney statistic over right and wrong answers,
    None if all are right or all are wrong.

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
    ends = np.searchsorted(votes.annotator[rows], np.arange(votes.n_annotators + 1))
    return [
        _measure(
            annotator,
            votes,
            rows[ends[annotator] : ends[annotator + 1]],
            known,
            right,
            majority,
            equal_share,
            sides,
            times,
        )
        for annotator in range(votes.n_annotators)
    ]


def _measure(
    annotator: int,
    votes: Votes,
    rows: IntArray,
    known: BoolArray,
    right: BoolArray,
    majority: IntArray,
    equal_share: FloatArray,
    sides: FloatArray,
    times: FloatArray,
) -> AnnotatorQuality:
    choice, certainty = votes.choice[rows], votes.certainty[rows]
    others = majority[rows]
    given = certainty[~np.isnan(certainty)]
    shares = equal_share[rows][~np.isnan(equal_share[rows])]
    timed = times[rows][~np.isnan(times[rows])]
    judged = known[rows] & ~np.isnan(certainty)
    return AnnotatorQuality(
        annotator=annotator,
        n=int(rows.size),
        accuracy=wilson_proportion(right[rows][known[rows]]),
        majority_agreement=wilson_proportion(choice[others >= 0] == others[others >= 0]),
        others_tied=int((others < 0).sum()),
        pair_agreement=_mean(shares),
        certainty_mean=_mean(given),
        certainty_sd=Estimate(float(given.std(ddof=1)))
        if given.size > 1
        else Estimate(None, "too_few_items"),
        certainty_auroc=_auroc(certainty[judged], right[rows][judged]),
        favourite_share=Estimate(float(np.bincount(choice).max()) / rows.size)
        if rows.size
        else Estimate(None, "empty_group"),
        longest_run=_longest_run(sides[rows]),
        median_seconds=Estimate(float(np.median(timed)))
        if timed.size
        else Estimate(None, "empty_group"),
    )


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


def _auroc(certainty: FloatArray, right: BoolArray) -> Estimate:
    n_right = int(right.sum())
    n_wrong = right.size - n_right
    if n_right == 0 or n_wrong == 0:
        return Estimate(None, "no_variation" if right.size else "empty_group")
    above = float(rankdata(certainty)[right].sum()) - n_right * (n_right + 1) / 2
    return Estimate(above / (n_right * n_wrong))


def _longest_run(sides: FloatArray) -> int:
    known = sides >= 0
    if not known.any():
        return 0
    breaks = np.flatnonzero((sides[1:] != sides[:-1]) | ~known[1:] | ~known[:-1]) + 1
    runs = np.split(known, breaks)
    return max(int(run.sum()) for run in runs)


def _mean(values: FloatArray) -> Estimate:
    return Estimate(float(values.mean())) if values.size else Estimate(None, "empty_group")


def _per_vote(name: str, values: npt.ArrayLike | None, votes: Votes, missing: float) -> FloatArray:
    if values is None:
        return np.full(votes.n, missing)
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (votes.n,):
        raise ValueError(f"`{name}` must have one value per vote ({votes.n}), got {array.shape}.")
    return array
