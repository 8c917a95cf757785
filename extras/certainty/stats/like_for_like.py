"""Compare certainty by the same rules for both sides, and at equal coverage.

The mean certainty of a three-person majority varies less than a single number from a model. With
one threshold the two select different shares of items, so equally good judges look different.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.certainty.calibration import usable_answers
from analysis.stats.core.aggregation import majority_vote
from analysis.stats.core.multiway import ClusterLabels, score_variance
from analysis.stats.core.proportions import (
    CONDITIONAL,
    effective_n,
    item_clustered_proportion,
    two_way_proportion,
    wilson_ends,
    wilson_proportion,
)
from analysis.stats.core.results import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Proportion,
    Reason,
    check_level,
    n_distinct,
    t_quantile,
)
from analysis.stats.core.votes import Votes

# Answers on either side of the cut that estimate the accuracy at the cut.
MIN_NEIGHBOURS = 10
NEIGHBOURS = 0.05


def matched_accuracy(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    clusters: ClusterLabels,
    *,
    reference_high: npt.ArrayLike,
    reference_clusters: ClusterLabels,
    level: float = 0.95,
) -> Estimate:
    r"""Accuracy of the most certain answers, at the share that is high in a reference.

    Two sides that use the scale differently are compared at equal shares of accepted answers, not
    above one threshold.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        0 to 100; NaN is missing and left out.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing and left out.
    clusters : mapping of str to array_like of int, each of shape (n,)
        What answers have in common, as for `multiway_variance`.
    reference_high : array_like of bool, shape (m,)
        Whether each answer of the reference is high: their share is the coverage.
    reference_clusters : mapping of str to array_like of int, each of shape (m,)
        As `clusters`, with the same names and codes, so that both sides' answers to one item share
        a cluster. The reference may be the side itself.
    level : float, default 0.95

    Returns
    -------
    Estimate
        The value is that of `accuracy_at_coverage`. Undefined (``"empty_group"``) without usable
        answers or if no answer of the reference is high; no interval (``"too_few_items"``)
        below two clusters.

    Raises
    ------
    ValueError
        If the arrays do not fit together or a number is out of range.

    Notes
    -----
    With coverage c, n answers, weight :math:`w_i` 1 above the cut, 0 below it and in between for
    the answers tied at it, :math:`\hat A=\sum_iw_iy_i/(cn)`. Both the cut and c are estimated;
    with m the accuracy of the answers next to the cut, to first order

    .. math:: \hat A-A=\frac1{cn}\sum_i[w_i(y_i-m)-c(A-m)]+\frac{m-A}{c}(\hat c-c),

    whose cluster-robust variance gives an effective number of answers and Wilson's interval with
    a t quantile, as for `multiway_proportion`. m is the mean over the tenth of the answers around
    the cut, at least 20, and those tied at it.

    Examples
    --------
    >>> result = matched_accuracy(
    ...     [90, 80, 70, 60], [1, 1, 0, 0], {"item": range(4)},
    ...     reference_high=[1, 0, 1, 0], reference_clusters={"item": range(4)},
    ... )
    >>> result.value, result.interval.method
    (1.0, 'coverage-matched wilson')
    """
    check_level(level)
    high = np.asarray(reference_high, dtype=np.bool_)
    values, right, _ = usable_answers(certainty, correct)
    known = ~np.isnan(np.asarray(certainty, dtype=np.float64)) & (np.asarray(correct) >= 0)
    if values.size == 0 or not high.any():
        return Estimate(None, "empty_group")
    if clusters.keys() != reference_clusters.keys():
        raise ValueError("`clusters` and `reference_clusters` must have the same names.")
    n, coverage = values.size, float(high.mean())
    weight, near = _around_the_cut(values, coverage)
    accepted = coverage * n
    share = min(1.0, float(weight @ right) / accepted)
    at_cut = float(right[near].mean())

    own = (weight * (right - at_cut) - coverage * (share - at_cut)) / accepted
    through_coverage = (at_cut - share) / coverage * (high - coverage) / high.size
    together = {
        name: np.concatenate([np.asarray(codes)[known], np.asarray(reference_clusters[name])])
        for name, codes in clusters.items()
    }
    variance = score_variance(np.concatenate([own, through_coverage]), together)
    if variance is None:
        return Estimate(share, interval_reason="too_few_items")
    fewest = min(variance.n_clusters[name] for name in variance.used)
    at_most = _n_clusters(together, own.size, weight)
    # All right or all wrong: nothing varies among the accepted answers.
    spread = variance.variance if 1e-12 < share < 1 - 1e-12 else 0.0
    low, top = wilson_ends(
        share,
        effective_n(share, max(1, round(accepted)), spread, at_most=at_most),
        t_quantile(fewest - 1, (1 + level) / 2),
    )
    interval = Interval(
        low,
        top,
        level,
        "coverage-matched wilson",
        variance.n_clusters.get("item", n),
        variance.n_clusters.get("annotator"),
    )
    return Estimate(share, interval=interval)


def _around_the_cut(values: FloatArray, coverage: float) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Weight of each answer at this coverage, and the answers next to the cut."""
    order = np.argsort(-values, kind="stable")
    wanted = coverage * values.size
    cut = values[order[min(int(wanted), values.size - 1)]]
    above, at = values > cut, values == cut
    part = np.clip((wanted - above.sum()) / at.sum(), 0, 1)
    weight = np.where(above, 1.0, np.where(at, part, 0.0))
    window = max(MIN_NEIGHBOURS, int(NEIGHBOURS * values.size))
    place = int(wanted)
    neighbours = order[max(0, place - window) : place + window]
    return weight, np.union1d(neighbours, np.flatnonzero(at))


def _n_clusters(clusters: Mapping[str, IntArray], n: int, weight: FloatArray) -> int:
    """Fewest clusters that the accepted answers come from."""
    return min(n_distinct(codes[:n][weight > 0]) for codes in clusters.values())


@dataclass(frozen=True)
class PanelSide:
    """One side's results under one rule.

    Attributes
    ----------
    overall : Proportion
        Accuracy of all answers that have a truth.
    high : Proportion
        Accuracy of those with certainty at or above the threshold.
    high_share : float or None
        Answers with high certainty over answers with any certainty.
    matched : Estimate
        Accuracy of the most certain answers at the panel's coverage, with an interval that
        allows for the coverage being estimated; see `matched_accuracy`.
    n_ties, n_no_certainty : int
        Items without a single majority; answers without a certainty.
    reason : str or None
        ``"too_few_annotators"`` if the rule needs more answers per item than any item has,
        ``"empty_group"`` if nothing could be used.
    """

    overall: Proportion
    high: Proportion
    high_share: float | None
    matched: Estimate
    n_ties: int
    n_no_certainty: int
    reason: Reason | None = None


@dataclass(frozen=True)
class LikeForLike:
    """Results of people and model under the same rules.

    Attributes
    ----------
    human_single, model_single : PanelSide
        Every single answer: one person, one run.
    human_majority, model_majority : PanelSide
        Majority of `votes_per_item` answers with the mean certainty of the winners.
    coverage : float or None
        Share of high certainty among single human answers: the coverage at which
        ``matched`` compares all four.
    threshold : float
        Lowest certainty that is high.
    votes_per_item : int
        Answers that form a majority.
    """

    human_single: PanelSide
    model_single: PanelSide
    human_majority: PanelSide
    model_majority: PanelSide
    coverage: float | None
    threshold: float
    votes_per_item: int


def like_for_like(
    human: Votes,
    model: Votes,
    truth: npt.ArrayLike,
    *,
    threshold: float = 80,
    votes_per_item: int = 3,
    rng: np.random.Generator,
) -> LikeForLike:
    """Compare people and model answer by answer, majority by majority, and at equal coverage.

    Parameters
    ----------
    human : Votes
        Choices of people with certainty.
    model : Votes
        Choices of one model's runs, each run as an annotator of its own, on the same items.
    truth : array_like of int, shape (n_items,)
        True option; -1 is unknown.
    threshold : float, default 80
        Certainty at or above it is high; it is compared with unrounded means.
    votes_per_item : int, default 3
        Answers that form a majority. Items with fewer are left out of the majorities; from items
        with more, this number is drawn at random.
    rng : numpy.random.Generator
        Source of randomness of that draw.

    Returns
    -------
    LikeForLike
        Intervals of single human answers allow for shared items and people; the others allow for
        items, conditional on the people in a majority.

    Raises
    ------
    ValueError
        If the numbers of items differ or `votes_per_item` is below 1.

    Examples
    --------
    >>> people = Votes.from_matrix([[0, 0, 1], [1, 1, 1]], [[90, 80, 60], [70, 80, 75]])
    >>> runs = Votes.from_matrix([[0, 0, 0], [0, 1, 1]], [[95, 90, 85], [80, 60, 70]])
    >>> panel = like_for_like(people, runs, [0, 1], rng=np.random.default_rng(0))
    >>> panel.human_single.high.n, panel.human_majority.high.n, panel.model_majority.high.n
    (3, 1, 1)
    """
    truths = np.asarray(truth, dtype=np.int64)
    if not human.n_items == model.n_items == truths.size:
        raise ValueError(
            "`human`, `model` and `truth` must be about the same items, got "
            f"{human.n_items}, {model.n_items} and {truths.size}."
        )
    if votes_per_item < 1:
        raise ValueError(f"`votes_per_item` must be at least 1, got {votes_per_item}.")

    singles = [_single_answers(votes, truths) for votes in (human, model)]
    majorities = [_majority_answers(votes, truths, votes_per_item, rng) for votes in (human, model)]
    stated = singles[0].take((singles[0].correct >= 0) & ~np.isnan(singles[0].certainty))

    def side(answers: _Answers, share: Callable[[_Answers], Proportion]) -> PanelSide:
        return _side(answers, threshold, share, stated)

    return LikeForLike(
        human_single=side(singles[0], _two_way),
        model_single=side(singles[1], _by_item),
        human_majority=side(majorities[0], _conditional),
        model_majority=side(majorities[1], _independent),
        coverage=_high_share(singles[0], threshold),
        threshold=threshold,
        votes_per_item=votes_per_item,
    )


@dataclass(frozen=True, eq=False)
class _Answers:
    """One side's answers under one rule, in rows; `correct` is -1 without a truth."""

    item: IntArray
    annotator: IntArray
    certainty: FloatArray
    correct: IntArray
    n_ties: int = 0

    def take(self, rows: BoolArray) -> "_Answers":
        return _Answers(
            self.item[rows], self.annotator[rows], self.certainty[rows], self.correct[rows]
        )


def _single_answers(votes: Votes, truth: IntArray) -> _Answers:
    """Every answer by itself."""
    expected = truth[votes.item]
    correct = np.where(expected >= 0, (votes.choice == expected).astype(np.int64), -1)
    return _Answers(votes.item, votes.annotator, votes.certainty, correct)


def _majority_answers(
    votes: Votes, truth: IntArray, size: int, rng: np.random.Generator
) -> _Answers:
    """Majority of `size` answers of each item with at least that many."""
    lots = rng.random(votes.n)
    answers = np.bincount(votes.item, minlength=votes.n_items)
    enough = answers >= size
    chosen = enough[votes.item]
    if answers.max(initial=0) > size:
        order = np.lexsort((lots, votes.item))
        item = votes.item[order]
        rank = np.arange(votes.n) - (np.cumsum(answers) - answers)[item]
        chosen = np.zeros(votes.n, dtype=np.bool_)
        chosen[order[(rank < size) & enough[item]]] = True
    majority = majority_vote(votes.take(chosen))
    decided = enough & (truth >= 0) & (majority.answer >= 0)
    correct = np.where(decided, (majority.answer == truth).astype(np.int64), -1)
    items = np.flatnonzero(enough)
    return _Answers(
        item=items,
        annotator=np.zeros_like(items),
        certainty=majority.certainty[enough],
        correct=correct[enough],
        n_ties=int(np.sum(majority.undecided & (truth >= 0))),
    )


def _high_share(answers: _Answers, threshold: float) -> float | None:
    stated = answers.certainty[~np.isnan(answers.certainty) & (answers.correct >= 0)]
    return float(np.mean(stated >= threshold)) if stated.size else None


def _side(
    answers: _Answers,
    threshold: float,
    share: Callable[[_Answers], Proportion],
    stated: _Answers,
) -> PanelSide:
    """One side of the panel; `share` computes the interval that fits the answers.

    `stated` are the single human answers with a certainty, whose high ones set the coverage.
    """
    answered = answers.correct >= 0
    reason: Reason | None = None
    if answers.item.size == 0:
        reason = "too_few_annotators"
    elif not answered.any():
        reason = "empty_group"
    # Single people are treated as random, a majority as fixed.
    by_person = share is _two_way
    matched = matched_accuracy(
        answers.certainty,
        answers.correct,
        _clusters(answers, by_person),
        reference_high=stated.certainty >= threshold,
        reference_clusters=_clusters(stated, by_person),
    )
    return PanelSide(
        overall=share(answers.take(answered)),
        high=share(answers.take(answered & (answers.certainty >= threshold))),
        high_share=_high_share(answers, threshold),
        matched=matched,
        n_ties=answers.n_ties,
        n_no_certainty=int(np.sum(answered & np.isnan(answers.certainty))),
        reason=reason,
    )


def _clusters(answers: _Answers, by_person: bool) -> dict[str, IntArray]:
    items = {"item": answers.item}
    return items | {"annotator": answers.annotator} if by_person else items


def _two_way(answers: _Answers) -> Proportion:
    return two_way_proportion(answers.correct, answers.item, answers.annotator)


def _by_item(answers: _Answers) -> Proportion:
    return item_clustered_proportion(answers.correct, answers.item)


def _conditional(answers: _Answers) -> Proportion:
    return wilson_proportion(answers.correct, note=CONDITIONAL)


def _independent(answers: _Answers) -> Proportion:
    return wilson_proportion(answers.correct)
