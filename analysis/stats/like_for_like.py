"""Fair comparisons of certainty: equal rules for both sides, and bands that overlap.

The mean certainty of a three-person majority varies less than one model's single number, so under
one threshold the two pick different shares of items, and judges of equal quality look different.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .aggregation import majority_vote
from .bootstrap import percentile_interval
from .calibration import usable_answers
from .checks import check_level, relabel
from .proportions import (
    CONDITIONAL,
    item_clustered_proportion,
    two_way_proportion,
    wilson_proportion,
)
from .results import BoolArray, Estimate, FloatArray, IntArray, Proportion, Reason
from .risk_coverage import accuracy_at_coverage
from .votes import Votes


@dataclass(frozen=True)
class PanelSide:
    """One side under one rule.

    Attributes
    ----------
    overall : Proportion
        Accuracy of all answers that have a truth.
    high : Proportion
        Accuracy of those with certainty at or above the threshold.
    high_share : float or None
        Answers with high certainty over answers with any certainty.
    matched_accuracy : float or None
        Accuracy of the most certain answers at the panel's matched coverage.
    n_ties, n_no_certainty : int
        Items without a single majority; answers without a certainty.
    reason : str or None
        ``"too_few_annotators"`` where the rule needs more answers per item than any item has,
        ``"empty_group"`` where nothing could be used.
    """

    overall: Proportion
    high: Proportion
    high_share: float | None
    matched_accuracy: float | None
    n_ties: int
    n_no_certainty: int
    reason: Reason | None = None


@dataclass(frozen=True)
class LikeForLike:
    """People and model by the same rules.

    Attributes
    ----------
    human_single, model_single : PanelSide
        Every single answer: one person, one run.
    human_majority, model_majority : PanelSide
        Majority of `votes_per_item` answers with the mean certainty of the winners.
    coverage : float or None
        Share of high certainty among single human answers: the coverage at which
        ``matched_accuracy`` compares all four.
    threshold : float
        Where high begins.
    votes_per_item : int
        Answers that make a majority.
    """

    human_single: PanelSide
    model_single: PanelSide
    human_majority: PanelSide
    model_majority: PanelSide
    coverage: float | None
    threshold: float
    votes_per_item: int


@dataclass(frozen=True)
class HighSets:
    """Accuracy of each side on the items where it is itself certain.

    Attributes
    ----------
    difference : Estimate
        Accuracy of the model on its high set less that of people on theirs, with an interval
        from resampling items (or blocks) and making both sets anew each time.
    model_on_own, human_on_own : Proportion
        The two accuracies.
    n_both, n_human_only, n_model_only, n_neither : int
        Items by which sides are certain.
    cells : dict of str to tuple of Proportion
        For ``both``, ``human_only``, ``model_only`` and ``neither``: accuracy of people and of
        the model on those items.
    n, n_missing : int
        Items with answer, certainty and truth from both sides; items without.
    """

    difference: Estimate
    model_on_own: Proportion
    human_on_own: Proportion
    n_both: int
    n_human_only: int
    n_model_only: int
    n_neither: int
    cells: dict[str, tuple[Proportion, Proportion]]
    n: int
    n_missing: int


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
        Right option, -1 none.
    threshold : float, default 80
        Certainty at or above it is high; it is compared with unrounded means.
    votes_per_item : int, default 3
        Answers that make a majority. Items with fewer are left out of the majorities, from items
        with more that many are drawn at random.
    rng : numpy.random.Generator
        Source of randomness of that draw.

    Returns
    -------
    LikeForLike
        Point values without intervals for matched coverage: it is a description.

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
    coverage = _high_share(singles[0], threshold)
    return LikeForLike(
        human_single=_side(singles[0], threshold, coverage, _two_way),
        model_single=_side(singles[1], threshold, coverage, _by_item),
        human_majority=_side(majorities[0], threshold, coverage, _conditional),
        model_majority=_side(majorities[1], threshold, coverage, _independent),
        coverage=coverage,
        threshold=threshold,
        votes_per_item=votes_per_item,
    )


def compare_high_sets(
    human_certainty: npt.ArrayLike,
    human_correct: npt.ArrayLike,
    model_certainty: npt.ArrayLike,
    model_correct: npt.ArrayLike,
    *,
    threshold: float = 80,
    blocks: npt.ArrayLike | None = None,
    rng: np.random.Generator,
    n_draws: int = 1000,
    level: float = 0.95,
) -> HighSets:
    r"""Accuracy of the model where it is certain less accuracy of people where they are.

    The two sets are chosen by the certainties that are compared, and they overlap; neither a
    paired nor an unpaired test fits, so items are resampled and both sets made anew.

    Parameters
    ----------
    human_certainty, model_certainty : array_like of float, shape (n_items,)
        0 to 100; NaN is missing. An item that misses either is left out.
    human_correct, model_correct : array_like of int, shape (n_items,)
        1 right, 0 wrong, -1 missing (tie, no truth, no answer); left out likewise.
    threshold : float, default 80
        Certainty at or above it is high.
    blocks : array_like of int, shape (n_items,), optional
        Blocks of annotators: resampled instead of items, for inference about people in general.
    rng : numpy.random.Generator
        Source of randomness.
    n_draws : int, default 1000
        Resamples.
    level : float, default 0.95
        Nominal coverage of the percentile interval.

    Returns
    -------
    HighSets
        No interval where more than 5 % of the resamples leave a high set empty.

    Raises
    ------
    ValueError
        If the arrays do not fit together or a number is out of range.

    Examples
    --------
    >>> sets = compare_high_sets(
    ...     [90, 70, 85, 60], [1, 0, 1, 1], [85, 90, 60, 50], [1, 1, 0, 1],
    ...     rng=np.random.default_rng(0),
    ... )
    >>> sets.n_both, sets.n_human_only, sets.n_model_only, sets.difference.value
    (1, 1, 1, 0.0)
    """
    check_level(level)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    inputs = [
        np.asarray(values, dtype=np.float64)
        for values in (human_certainty, human_correct, model_certainty, model_correct)
    ]
    if len({values.shape for values in inputs}) != 1:
        raise ValueError("Certainties and correctness of both sides must have one length.")
    usable_answers(inputs[0], inputs[1])  # refuses values out of range
    usable_answers(inputs[2], inputs[3])
    known = ~np.isnan(inputs[0]) & ~np.isnan(inputs[2]) & (inputs[1] >= 0) & (inputs[3] >= 0)
    h_certainty, h_right, m_certainty, m_right = (values[known] for values in inputs)
    h_high, m_high = h_certainty >= threshold, m_certainty >= threshold

    model_on_own = wilson_proportion(m_right[m_high])
    human_on_own = wilson_proportion(h_right[h_high])
    members = {
        "both": h_high & m_high,
        "human_only": h_high & ~m_high,
        "model_only": m_high & ~h_high,
        "neither": ~h_high & ~m_high,
    }
    difference = Estimate(None, "empty_group")
    if model_on_own.value is not None and human_on_own.value is not None:
        # Right and all answers of each high set, per item or block: all that a resample needs.
        parts = np.stack([m_high * m_right, m_high, h_high * h_right, h_high], axis=1)
        unit, n_units = relabel(
            np.arange(parts.shape[0]) if blocks is None else np.asarray(blocks)[known]
        )
        sums = np.zeros((n_units, 4))
        np.add.at(sums, unit, parts.astype(np.float64))
        interval = percentile_interval(
            _resampled_difference(sums, n_draws, rng),
            level=level,
            method="item bootstrap" if blocks is None else "block bootstrap",
            n_items=int(known.sum()),
            rng=rng,
        )
        difference = Estimate(
            model_on_own.value - human_on_own.value,
            interval=interval,
            interval_reason=None if interval else "empty_group",
        )
    return HighSets(
        difference=difference,
        model_on_own=model_on_own,
        human_on_own=human_on_own,
        n_both=int(members["both"].sum()),
        n_human_only=int(members["human_only"].sum()),
        n_model_only=int(members["model_only"].sum()),
        n_neither=int(members["neither"].sum()),
        cells={
            name: (wilson_proportion(h_right[rows]), wilson_proportion(m_right[rows]))
            for name, rows in members.items()
        },
        n=int(known.sum()),
        n_missing=int(np.sum(~known)),
    )


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers of one side under one rule, in rows; `correct` is -1 where there is no truth."""

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
    """The majority of `size` answers of each item that has as many."""
    order = np.lexsort((rng.random(votes.n), votes.item))
    item = votes.item[order]
    rank = np.arange(votes.n) - np.searchsorted(item, item)
    enough = np.bincount(votes.item, minlength=votes.n_items) >= size
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
    coverage: float | None,
    share: Callable[[_Answers], Proportion],
) -> PanelSide:
    """One side of the panel; `share` makes the interval that fits how the answers came about."""
    answered = answers.correct >= 0
    reason: Reason | None = None
    if answers.item.size == 0:
        reason = "too_few_annotators"
    elif not answered.any():
        reason = "empty_group"
    matched = (
        accuracy_at_coverage(answers.certainty, answers.correct, coverage) if coverage else None
    )
    return PanelSide(
        overall=share(answers.take(answered)),
        high=share(answers.take(answered & (answers.certainty >= threshold))),
        high_share=_high_share(answers, threshold),
        matched_accuracy=matched,
        n_ties=answers.n_ties,
        n_no_certainty=int(np.sum(answered & np.isnan(answers.certainty))),
        reason=reason,
    )


def _two_way(answers: _Answers) -> Proportion:
    return two_way_proportion(answers.correct, answers.item, answers.annotator)


def _by_item(answers: _Answers) -> Proportion:
    return item_clustered_proportion(answers.correct, answers.item)


def _conditional(answers: _Answers) -> Proportion:
    return wilson_proportion(answers.correct, note=CONDITIONAL)


def _independent(answers: _Answers) -> Proportion:
    return wilson_proportion(answers.correct)


def _resampled_difference(sums: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Difference of the two accuracies in each resample of units; NaN where a set is empty.

    Units with equal sums are interchangeable, so the draw is over distinct rows.
    """
    rows, n = np.unique(sums, axis=0, return_counts=True)
    drawn = rng.multinomial(n.sum(), n / n.sum(), size=n_draws) @ rows
    m_right, m_n, h_right, h_n = drawn.T
    defined = (m_n > 0) & (h_n > 0)
    difference = np.full(n_draws, np.nan)
    difference[defined] = m_right[defined] / m_n[defined] - h_right[defined] / h_n[defined]
    return difference
