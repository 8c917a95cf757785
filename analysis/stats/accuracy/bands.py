"""Accuracy of answers: overall, and by certainty."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ..core.aggregation import MajorityVote
from ..core.clusters import annotator_blocks, majority_proportion
from ..core.proportions import (
    item_clustered_proportion,
    two_way_proportion,
    wilson_proportion,
)
from ..core.results import BoolArray, Estimate, FloatArray, IntArray, Proportion
from ..core.votes import Votes


@dataclass(frozen=True)
class AccuracyCells:
    """Accuracy overall and by certainty.

    Attributes
    ----------
    overall, high, low, no_certainty : Proportion
        All answers; those with certainty >= `threshold`; those below it; those without certainty.
    threshold : float
        Lowest certainty that is high.
    n_at_threshold : int
        Answers with a certainty of exactly `threshold`: high here, but low under the rule "above".
    excluded : mapping of str to int
        Uncounted answers, by reason: ``"no_votes"``, ``"no_truth"``, ``"tie"``,
        ``"no_answer"``. Each counts once, under the first reason that applies, in this order.
    """

    overall: Proportion
    high: Proportion
    low: Proportion
    no_certainty: Proportion
    threshold: float
    n_at_threshold: int
    excluded: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class AccuracyBands:
    """Answers of one side, prepared for any number of thresholds.

    `cell` is the accuracy of the answers in a mask, `certainty` that of each answer that counts.
    """

    cell: Callable[[BoolArray], Proportion]
    certainty: FloatArray
    excluded: Mapping[str, int]

    def split(self, threshold: float) -> tuple[Proportion, Proportion]:
        """Accuracy of high and of low certainty."""
        # A comparison with NaN is false, so a missing certainty is neither high nor low.
        return self.cell(self.certainty >= threshold), self.cell(self.certainty < threshold)

    def cells(self, threshold: float, *, paper_compat: bool = False) -> AccuracyCells:
        """All cells at one threshold; with `paper_compat`, a missing certainty is low."""
        if paper_compat:
            stated = np.where(np.isnan(self.certainty), 0.0, self.certainty)
            return replace(self, certainty=stated).cells(threshold)
        high, low = self.split(threshold)
        return AccuracyCells(
            overall=self.cell(np.full(self.certainty.shape, True)),
            high=high,
            low=low,
            no_certainty=self.cell(np.isnan(self.certainty)),
            threshold=threshold,
            n_at_threshold=int((self.certainty == threshold).sum()),
            excluded=MappingProxyType(dict(self.excluded)),
        )


def answer_accuracy(
    answer: npt.ArrayLike,
    truth: npt.ArrayLike,
    certainty: npt.ArrayLike | None = None,
    *,
    threshold: float = 80,
    n_options: int = 2,
    item: npt.ArrayLike | None = None,
    level: float = 0.95,
    paper_compat: bool = False,
) -> AccuracyCells:
    """Accuracy of one source of answers, such as a model.

    Parameters
    ----------
    answer, truth : array_like of int, shape (n,)
        Option given and true option; -1 is missing.
    certainty : array_like of float, shape (n,), optional
        1 to 100; NaN is missing.
    threshold : float, default 80
        A certainty of at least this is high, compared unrounded.
    n_options : int, default 2
        Options offered. A truth beyond them (a tie that was not offered) counts as missing.
    item : array_like of int, shape (n,), optional
        Item of each row, if an item has several rows: the intervals are then clustered by
        item. By default every row is its own item and the intervals are Wilson's.
    level : float, default 0.95
    paper_compat : bool, default False
        Count a missing certainty as low, as the code released with [1]_ does.

    Returns
    -------
    AccuracyCells
        `excluded` has ``no_answer`` and ``no_truth``.

    References
    ----------
    .. [1] Dong, Hu and Collier, "Can LLM be a Personalized Judge?", 2024.

    Examples
    --------
    >>> cells = answer_accuracy([0, 1, 1, -1], [0, 1, 0, 0], [90, 79.5, 80, 50])
    >>> cells.overall.correct, cells.overall.n, cells.high.correct, cells.high.n
    (2, 3, 1, 2)
    """
    bands = answer_bands(answer, truth, certainty, n_options=n_options, item=item, level=level)
    return bands.cells(threshold, paper_compat=paper_compat)


def answer_bands(
    answer: npt.ArrayLike,
    truth: npt.ArrayLike,
    certainty: npt.ArrayLike | None = None,
    *,
    n_options: int = 2,
    item: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> AccuracyBands:
    """`answer_accuracy` before a threshold is chosen."""
    answers, truths = _options("answer", answer), _options("truth", truth)
    certainties = _certainties(certainty, answers.size)
    if not answers.shape == truths.shape == certainties.shape:
        raise ValueError(
            "`answer`, `truth` and `certainty` must have one length, got "
            f"{answers.size}, {truths.size}, {certainties.size}."
        )
    if answers.max(initial=-1) >= n_options:
        raise ValueError(f"`answer` holds option {answers.max()}, of {n_options} options.")
    known = (truths >= 0) & (truths < n_options)
    counts = known & (answers >= 0)
    right = (answers == truths)[counts]

    def cell(rows: BoolArray) -> Proportion:
        if item is None:
            return wilson_proportion(right[rows], level=level)
        items = np.asarray(item)[counts]
        return item_clustered_proportion(right[rows], items[rows], level=level)

    excluded = {"no_truth": int((~known).sum()), "no_answer": int((known & ~counts).sum())}
    return AccuracyBands(cell, certainties[counts], excluded)


def individual_accuracy(
    votes: Votes,
    truth: npt.ArrayLike,
    *,
    threshold: float = 80,
    level: float = 0.95,
    paper_compat: bool = False,
) -> AccuracyCells:
    """Accuracy of people's single answers, with two-way cluster-robust intervals.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators.
    truth : array_like of int, shape (n_items,)
        True option; -1 is unknown.
    threshold : float, default 80
        A certainty of at least this is high.
    level : float, default 0.95
    paper_compat : bool, default False
        Count a missing certainty as low.

    Returns
    -------
    AccuracyCells
        Counted in answers, not items; `excluded` has ``no_answer`` and ``no_truth``.

    See Also
    --------
    two_way_proportion : the interval.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 1], [1, 1, 1]], [[90, 60, 85], [95, 80, np.nan]])
    >>> cells = individual_accuracy(votes, [0, 1])
    >>> cells.overall.correct, cells.high.correct, cells.high.n, cells.no_certainty.n
    (5, 3, 4, 1)
    """
    bands = individual_bands(votes, truth, level=level)
    return bands.cells(threshold, paper_compat=paper_compat)


def individual_bands(votes: Votes, truth: npt.ArrayLike, *, level: float = 0.95) -> AccuracyBands:
    """`individual_accuracy` before a threshold is chosen."""
    truths = _item_truth(truth, votes)[votes.item]
    known = truths >= 0
    known_votes = votes.take(known)
    right = known_votes.choice == truths[known]

    def cell(rows: BoolArray) -> Proportion:
        return two_way_proportion(
            right[rows], known_votes.item[rows], known_votes.annotator[rows], level=level
        )

    excluded = {"no_truth": int((~known).sum()), "no_answer": votes.n_missing}
    return AccuracyBands(cell, known_votes.certainty, excluded)


def majority_accuracy(
    majority: MajorityVote,
    truth: npt.ArrayLike,
    *,
    threshold: float = 80,
    level: float = 0.95,
    paper_compat: bool = False,
) -> AccuracyCells:
    """Accuracy of the majority, by the mean certainty of those who gave the answer.

    Parameters
    ----------
    majority : MajorityVote
        From `majority_vote`. Undecided items count only in `excluded`.
    truth : array_like of int, shape (n_items,)
        True option; -1 is unknown.
    threshold : float, default 80
        A mean certainty of at least this is high; 79.5 is low.
    level : float, default 0.95
    paper_compat : bool, default False
        Count a missing certainty as low.

    Returns
    -------
    AccuracyCells
        `excluded` has ``no_votes``, ``no_truth`` and ``tie``.

    Notes
    -----
    Intervals are those of `majority_proportion`: by blocks of annotators if a cell spans at least
    8, else by shared annotators, or Wilson's with a note if there are too few annotators for
    either.

    Examples
    --------
    >>> from analysis.stats.core.aggregation import majority_vote
    >>> votes = Votes.from_matrix([[0, 0, 1], [1, 1, 1]], [[79, 80, 99], [80, 80, 80]])
    >>> cells = majority_accuracy(majority_vote(votes), [0, 0])
    >>> cells.low.correct, cells.low.n, cells.high.correct, cells.high.n
    (1, 1, 0, 1)
    >>> cells.overall.interval.note
    'conditional on these annotators'
    """
    bands = majority_bands(majority, truth, level=level)
    return bands.cells(threshold, paper_compat=paper_compat)


def majority_bands(
    majority: MajorityVote, truth: npt.ArrayLike, *, level: float = 0.95
) -> AccuracyBands:
    """`majority_accuracy` before a threshold is chosen."""
    truths = _item_truth(truth, majority.votes)
    voted, known, decided = majority.n_votes > 0, truths >= 0, majority.answer >= 0
    counts = known & decided
    right = (majority.answer == truths)[counts]
    item, block = np.flatnonzero(counts), annotator_blocks(majority.votes)[counts]

    def cell(rows: BoolArray) -> Proportion:
        return majority_proportion(
            right[rows], majority.votes, item[rows], block[rows], level=level
        )

    excluded = {
        "no_votes": int((~voted).sum()),
        "no_truth": int((voted & ~known).sum()),
        "tie": int((voted & known & ~decided).sum()),
    }
    return AccuracyBands(cell, majority.certainty[counts], excluded)


def tie_credit_accuracy(majority: MajorityVote, truth: npt.ArrayLike) -> Estimate:
    """Mean credit of the majority under its rule for ties; see `MajorityVote.credit`.

    With ``"half"`` this is the expected accuracy of breaking ties at random.

    Parameters
    ----------
    majority : MajorityVote
        From `majority_vote`.
    truth : array_like of int, shape (n_items,)
        True option; -1 is unknown.

    Returns
    -------
    Estimate
        Mean credit in [0, 1]; undefined (``"empty_group"``) without an item that counts.

    Examples
    --------
    >>> from analysis.stats.core.aggregation import majority_vote
    >>> votes = Votes.from_matrix([[0, 0], [0, 1]])
    >>> tie_credit_accuracy(majority_vote(votes, ties="half"), [0, 1]).value
    0.75
    """
    credit = majority.credit(_item_truth(truth, majority.votes))
    credit = credit[~np.isnan(credit)]
    return Estimate(float(credit.mean())) if credit.size else Estimate(None, "empty_group")


def _options(name: str, values: npt.ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ValueError(
            f"`{name}` must be a vector of whole numbers, got {array.dtype} of {array.shape}."
        )
    return array.astype(np.int64)


def _item_truth(truth: npt.ArrayLike, votes: Votes) -> IntArray:
    """Truth per item; -1 also if it is an option that was not offered."""
    truths = _options("truth", truth)
    if truths.size != votes.n_items:
        raise ValueError(f"`truth` has {truths.size} items, `votes` has {votes.n_items}.")
    return np.where(truths < votes.n_options, truths, -1)


def _certainties(certainty: npt.ArrayLike | None, size: int) -> FloatArray:
    if certainty is None:
        return np.full(size, np.nan)
    return np.asarray(certainty, dtype=np.float64)
