"""One accuracy per annotator, fitted together with the answers."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats.core.fixed_point import MAX_STEPS, TOLERANCE, climb
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.votes import Votes
from analysis.stats.labels.aggregation import single_maximum
from analysis.stats.labels.patterns import Patterns, allowed_shares, log_or_impossible, normalised


@dataclass(frozen=True, eq=False)
class OneCoin:
    """Most likely answers with one accuracy per annotator.

    Attributes
    ----------
    posterior : ndarray of float, shape (n_items, n_options)
        Probability of each option; for an item without votes, the priors.
    answer : ndarray of int, shape (n_items,)
        The most probable option; -1 without votes or if two are equally probable.
    accuracy : ndarray of float, shape (n_annotators,)
        Estimated probability of a right answer; NaN for an annotator without votes.
    priors : ndarray of float, shape (n_options,)
        Estimated shares of the options.
    log_likelihood : float
        At `priors` and `accuracy`; the prior does not count in it.
    n_iterations : int
    converged : bool
    """

    posterior: FloatArray
    answer: IntArray
    accuracy: FloatArray
    priors: FloatArray
    log_likelihood: float
    n_iterations: int
    converged: bool


def one_coin(
    votes: Votes,
    *,
    prior: tuple[float, float] = (8.0, 4.0),
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_STEPS,
) -> OneCoin:
    r"""Estimate true options and one accuracy per annotator together.

    For studies in which each person answers too few items for a confusion matrix, such
    as 30 items.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators; repeated readings count separately.
    prior : tuple of float, default (8, 4)
        Right and wrong answers that everybody starts with: the assumption about an annotator before
        the first answer. ``(0, 0)`` is maximum likelihood, which treats anyone who happens to
        agree with two others on 30 items as never wrong.
    tolerance : float, default 1e-10
        Stop if a step gains less and changes no posterior probability by more than 1e-8.
    max_iterations : int, default 1000
        Steps of expectation-maximisation, accelerated as those of `dawid_skene`.

    Returns
    -------
    OneCoin

    Raises
    ------
    ValueError
        If `prior` is negative or `max_iterations` is below 1.

    Notes
    -----
    Dawid and Skene's model with the confusion matrix of annotator j restricted to
    :math:`a_j` on the diagonal and :math:`(1-a_j)/(C-1)` elsewhere, by
    expectation-maximisation from the vote shares. M-step:
    :math:`a_j=\frac{r+\sum_iT_{i,l_{ij}}}{r+w+n_j}` with r and w of `prior`. Annotators who all err
    in the same way are not covered: the model takes their shared mistakes for the truth.

    If items have few votes, use the accuracies rather than the answers. Simulated with 300
    items of three answers and 30 answers per person, none of the variants labels more items
    correctly than the plain majority (accuracies .55 to .95: majority .838, this prior .838,
    maximum likelihood .815; accuracies .5 to .75: .677, .657, .588).

    References
    ----------
    .. [1] A. P. Dawid and A. M. Skene, "Maximum Likelihood Estimation of Observer Error-Rates
       Using the EM Algorithm", Applied Statistics 28(1), 1979.
    .. [2] Y. Zhang, X. Chen, D. Zhou and M. I. Jordan, "Spectral Methods Meet EM: A Provably
       Optimal Algorithm for Crowdsourcing", JMLR 17, 2016, for the one-coin model.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> fitted = one_coin(votes)
    >>> fitted.answer.tolist(), fitted.accuracy.round(2).tolist()
    ([0, 0, 1, 1], [0.7, 0.7, 0.6])
    """
    right, wrong = prior
    if min(right, wrong) < 0:
        raise ValueError(f"`prior` must not be negative, got {prior}.")
    if max_iterations < 1:
        raise ValueError(f"`max_iterations` must be at least 1, got {max_iterations}.")

    patterns = Patterns.of(votes)
    given = np.bincount(votes.annotator, minlength=votes.n_annotators).astype(np.float64)

    def maximise(posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
        hits = patterns.expected_right(posterior).sum(axis=1)
        accuracy = np.divide(
            hits + right,
            given + right + wrong,
            out=np.full(given.shape, np.nan),
            where=given > 0,
        )
        return patterns.priors(posterior), accuracy

    def expect(priors: FloatArray, accuracy: FloatArray) -> tuple[FloatArray, float]:
        joint = patterns.log_joint(_log_chances(accuracy, votes.n_options))
        posterior, evidence = normalised(joint + log_or_impossible(priors)[:, None])
        return posterior, float(evidence @ patterns.n_items)

    def step(posterior: FloatArray) -> tuple[FloatArray, float]:
        priors, accuracy = maximise(posterior)
        updated, log_likelihood = expect(priors, accuracy)
        known = accuracy[given > 0]
        prior = float(special.xlogy(right, known).sum() + special.xlog1py(wrong, -known).sum())
        return updated, log_likelihood + prior

    reached = climb(
        step,
        patterns.shares,
        allow=allowed_shares,
        weights=patterns.n_items,
        tolerance=tolerance,
        max_steps=max_iterations,
    )
    priors, accuracy = maximise(reached.state)
    by_pattern, log_likelihood = expect(priors, accuracy)
    posterior = patterns.by_item(by_pattern, priors)

    answer, _ = single_maximum(posterior, np.ones_like(posterior, dtype=bool))
    return OneCoin(
        posterior=posterior,
        answer=np.where(patterns.of_item >= 0, answer, -1),
        accuracy=accuracy,
        priors=priors,
        log_likelihood=log_likelihood,
        n_iterations=reached.n_steps,
        converged=reached.converged,
    )


def _log_chances(accuracy: FloatArray, n_options: int) -> FloatArray:
    """Log probability of a choice, shape (n_options, n_annotators, n_options): truth, who, choice.

    An annotator who is never right, or never wrong, has an impossible choice.
    """
    is_right = np.eye(n_options, dtype=bool)[:, None, :]
    right, wrong = log_or_impossible(accuracy), log_or_impossible((1 - accuracy) / (n_options - 1))
    return np.where(is_right, right[:, None], wrong[:, None])
