"""The model and every annotator compared with the majority of the other annotators."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.alt_test import human_advantage, model_choices
from analysis.stats.comparison.differences import block_difference
from analysis.stats.comparison.paired import PairedCounts, tango_interval
from analysis.stats.core.clusters import MIN_BLOCKS, annotator_blocks
from analysis.stats.core.proportions import two_way_variance
from analysis.stats.core.results import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Reason,
    n_distinct,
    t_quantile,
)
from analysis.stats.core.votes import Votes


@dataclass(frozen=True)
class LeaveOneOut:
    """Agreement of the model and of one annotator with the majority of the other annotators.

    Attributes
    ----------
    annotator : int
        Code of the annotator.
    pairs : PairedCounts
        First side the model, second side the annotator; "right" is agreeing with the majority.
    n_ties : int
        Items skipped because the others tie.
    difference : Estimate
        Agreement of the model minus that of the annotator, with Tango's interval.
    """

    annotator: int
    pairs: PairedCounts
    n_ties: int
    difference: Estimate


@dataclass(frozen=True)
class LeaveOneOutSummary:
    """Leave-one-out comparison over all annotators.

    Attributes
    ----------
    difference : Estimate
        Mean over all answers of model minus annotator, with its clustered t interval.
    model_agreement, human_agreement : float or None
        Shares behind the difference.
    annotators : tuple of LeaveOneOut
        Annotators with at least one usable item, in the order of their codes.
    n, n_ties : int
        Answers used; answers skipped for a tie among the others.
    """

    difference: Estimate
    model_agreement: float | None
    human_agreement: float | None
    annotators: tuple[LeaveOneOut, ...]
    n: int
    n_ties: int


def leave_one_out(votes: Votes, model: npt.ArrayLike, *, level: float = 0.95) -> LeaveOneOutSummary:
    """Compare model and annotator by agreement with the majority of the other annotators.

    Parameters
    ----------
    votes : Votes
        Choices of people, at most one per annotator and item.
    model : array_like of int, shape (n_items,)
        The model's choice, -1 missing.
    level : float, default 0.95
        Nominal coverage of the intervals.

    Returns
    -------
    LeaveOneOutSummary
        Each annotator's own interval is conditional on the other annotators; the interval of the
        mean is about people in general.

    Raises
    ------
    ValueError
        If `model` does not fit `votes` or an annotator has two choices on an item.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 0], [1, 1, 0]])
    >>> result = leave_one_out(votes, [0, 1])
    >>> result.n, result.n_ties, result.model_agreement, result.human_agreement
    (4, 2, 1.0, 0.75)
    """
    choice = model_choices(votes, model)
    _, usable = human_advantage(votes, choice)
    votes = votes.take(usable)
    others = votes.counts()[votes.item]
    others[np.arange(votes.n), votes.choice] -= 1
    most = others.max(axis=1, initial=0)
    tied = (others == most[:, None]).sum(axis=1) > 1
    majority = others.argmax(axis=1) if votes.n else np.empty(0, dtype=np.int64)
    model_agrees = choice[votes.item] == majority
    person_agrees = votes.choice == majority

    annotators = _each_annotator(votes, tied, model_agrees, person_agrees, level)
    clear = ~tied
    n, n_ties = int(clear.sum()), int(tied.sum())
    if n == 0:
        reason: Reason = "tie" if n_ties else "no_pairs"
        return LeaveOneOutSummary(Estimate(None, reason), None, None, annotators, 0, n_ties)
    gain = model_agrees[clear].astype(np.float64) - person_agrees[clear]
    return LeaveOneOutSummary(
        difference=_clustered_mean(gain, votes.take(clear), level),
        model_agreement=float(model_agrees[clear].mean()),
        human_agreement=float(person_agrees[clear].mean()),
        annotators=annotators,
        n=n,
        n_ties=n_ties,
    )


def _each_annotator(
    votes: Votes,
    tied: BoolArray,
    model_agrees: BoolArray,
    person_agrees: BoolArray,
    level: float,
) -> tuple[LeaveOneOut, ...]:
    """The comparison for every annotator with a usable answer."""

    def per_annotator(rows: BoolArray) -> IntArray:
        return np.bincount(votes.annotator[rows], minlength=votes.n_annotators)

    b = per_annotator(~tied & model_agrees & ~person_agrees)
    c = per_annotator(~tied & person_agrees & ~model_agrees)
    n, n_ties = per_annotator(~tied), per_annotator(tied)

    @cache  # many annotators have the same counts
    def compared(b: int, c: int, n: int) -> tuple[PairedCounts, Estimate]:
        pairs = PairedCounts(b=b, c=c, n=n)
        if not n:
            return pairs, Estimate(None, "tie")
        return pairs, Estimate(pairs.difference, interval=tango_interval(pairs, level))

    entries = []
    for j in np.flatnonzero(n + n_ties).tolist():
        pairs, difference = compared(int(b[j]), int(c[j]), int(n[j]))
        entries.append(LeaveOneOut(j, pairs, int(n_ties[j]), difference))
    return tuple(entries)


def _clustered_mean(values: FloatArray, votes: Votes, level: float) -> Estimate:
    """Mean of a value per answer with its t interval.

    Clustered on blocks of annotators if there are enough of them, otherwise two-way.
    """
    blocks = annotator_blocks(votes)[votes.item]
    if n_distinct(blocks) >= MIN_BLOCKS:
        by_block = block_difference(values, blocks, level=level)
        return Estimate(
            by_block.value,
            interval=by_block.interval,
            interval_reason=by_block.interval_reason,
        )
    mean = float(values.mean())
    two_way = two_way_variance(values, votes.item, votes.annotator)
    if two_way is None:
        return Estimate(mean, interval_reason="too_few_annotators")
    if two_way.variance <= 1e-24:
        return Estimate(mean, interval_reason="no_variation")
    df = min(two_way.n_items, two_way.n_annotators) - 1
    half = t_quantile(df, 0.5 + level / 2) * two_way.variance**0.5
    interval = Interval(
        mean - half, mean + half, level, "two-way t", two_way.n_items, two_way.n_annotators
    )
    return Estimate(mean, interval=interval)
