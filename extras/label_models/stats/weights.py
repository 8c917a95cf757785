"""Majorities of weighted votes, and weights from certainty or accuracy."""

import numpy as np
import numpy.typing as npt

from analysis.stats.core.aggregation import (
    MajorityVote,
    majority_of,
    mean_certainty,
    single_maximum,
    weight_totals,
)
from analysis.stats.core.results import BoolArray, FloatArray
from analysis.stats.core.votes import Votes


def weighted_vote(votes: Votes, weights: npt.ArrayLike | None = None) -> MajorityVote:
    r"""Majority of weighted votes, by default weighted by certainty.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators.
    weights : array_like of float, shape (n,), optional
        Finite weight of each vote. By default ``certainty / 100``; a missing certainty counts as
        that annotator's mean certainty, or 0.5 without any.

    Returns
    -------
    MajorityVote
        With the rule ``"exclude"``; `counts` and `share` are those of the unweighted votes.

    Raises
    ------
    ValueError
        If `weights` has another shape or holds a value that is not finite.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 1]], [[20, 30, 90]])
    >>> weighted_vote(votes).answer.tolist()
    [1]
    """
    vote_weights = (
        certainty_weights(votes) if weights is None else np.asarray(weights, dtype=np.float64)
    )
    if vote_weights.shape != votes.item.shape or not np.isfinite(vote_weights).all():
        raise ValueError(
            f"`weights` must be {votes.n} finite numbers, got shape {vote_weights.shape}."
        )
    totals = weight_totals(votes, vote_weights)
    counts = votes.counts()
    answer, tied = single_maximum(totals, counts > 0)
    return majority_of(votes, counts, answer, tied, mean_certainty(votes), "exclude")


def certainty_weights(votes: Votes) -> FloatArray:
    """Certainty of each vote as a weight in (0, 1], shape (n,); see `weighted_vote`.

    Parameters
    ----------
    votes : Votes
        Choices with certainties.

    Returns
    -------
    ndarray of float, shape (n,)
        ``certainty / 100``; for a missing certainty the mean of the annotator, or 0.5.

    Examples
    --------
    >>> certainty_weights(Votes.from_matrix([[0], [1], [1]], [[40], [60], [np.nan]])).tolist()
    [0.4, 0.6, 0.5]
    """
    is_stated = ~np.isnan(votes.certainty)
    sums = np.bincount(
        votes.annotator[is_stated], votes.certainty[is_stated], minlength=votes.n_annotators
    )
    n = np.bincount(votes.annotator[is_stated], minlength=votes.n_annotators)
    own_mean = np.divide(sums, n, out=np.full(votes.n_annotators, 50.0), where=n > 0)
    return np.asarray(np.where(is_stated, votes.certainty, own_mean[votes.annotator]) / 100)


def log_odds_weights(votes: Votes, truth: npt.ArrayLike) -> FloatArray:
    r"""Log-odds of each annotator's accuracy on all *other* items, shape (n,).

    Parameters
    ----------
    votes : Votes
        Choices of the annotators.
    truth : array_like of int, shape (n_items,)
        True option; -1 is unknown.

    Returns
    -------
    ndarray of float, shape (n,)
        Natural logarithm of the odds, one per vote.

    Notes
    -----
    :math:`w_{ij} = \ln\frac{a}{1-a}` with :math:`a = \frac{s + 2}{m + 4}`: s of the m other
    judged votes of annotator j are right, shrunk by a Beta(2, 2) prior. Leaving out the item
    itself prevents its truth from deciding its own vote. Weights may be negative.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 1], [0, 1], [0, 1]])
    >>> log_odds_weights(votes, [0, 0, -1]).round(3).tolist()
    [0.405, -0.405, 0.405, -0.405, 0.693, -0.693]
    """
    truths = np.asarray(truth, dtype=np.int64)[votes.item]
    known = truths >= 0
    right = known & (votes.choice == truths)
    cell = votes.item * votes.n_annotators + votes.annotator
    _, cell = np.unique(cell, return_inverse=True)

    def others(rows: BoolArray) -> FloatArray:
        own = np.bincount(cell, rows, minlength=cell.max(initial=-1) + 1)
        all_of = np.bincount(votes.annotator, rows, minlength=votes.n_annotators)
        return np.asarray(all_of[votes.annotator] - own[cell], dtype=np.float64)

    accuracy = (others(right) + 2) / (others(known) + 4)
    return np.asarray(np.log(accuracy / (1 - accuracy)), dtype=np.float64)
