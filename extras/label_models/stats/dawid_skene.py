"""Annotators' accuracies, one each or a confusion matrix, fitted together with the answers."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats.core.aggregation import single_maximum
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.votes import Votes
from extras.label_models.stats.fitting import (
    MAX_STEPS,
    TOLERANCE,
    Patterns,
    allowed_shares,
    climb,
    log_or_impossible,
    normalised,
)


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
        At `priors` and `accuracy`, without the prior.
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

    For studies with too few items per person for a confusion matrix, such as 30.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators; repeated readings count separately.
    prior : tuple of float, default (8, 4)
        Right and wrong answers that everybody starts with. ``(0, 0)`` is maximum likelihood, which
        treats anyone who happens to agree with two others on 30 items as never wrong.
    tolerance : float, default 1e-10
        Stop when a step gains less and changes no posterior probability by more than 1e-8.
    max_iterations : int, default 1000
        Steps of expectation-maximisation, accelerated as in `dawid_skene`.

    Returns
    -------
    OneCoin

    Raises
    ------
    ValueError
        If `prior` is negative or `max_iterations` is below 1.

    Notes
    -----
    Dawid and Skene's model with the confusion matrix of annotator j restricted to :math:`a_j` on
    the diagonal and :math:`(1-a_j)/(C-1)` elsewhere, by expectation-maximisation from the vote
    shares. M-step: :math:`a_j=\frac{r+\sum_iT_{i,l_{ij}}}{r+w+n_j}` with r and w of `prior`. The
    model does not cover annotators who all err in the same way: it takes their shared mistakes for
    the truth.

    If items have few votes, use the accuracies rather than the answers. In simulations with 300
    items, three answers each and 30 answers per person, no variant labels more items correctly than
    the plain majority (accuracies .55 to .95: majority .838, this prior .838, maximum likelihood
    .815; accuracies .5 to .75: .677, .657, .588).

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
    n_votes = np.bincount(votes.annotator, minlength=votes.n_annotators).astype(np.float64)

    def maximise(posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
        hits = patterns.expected_right(posterior).sum(axis=1)
        accuracy = np.divide(
            hits + right,
            n_votes + right + wrong,
            out=np.full(n_votes.shape, np.nan),
            where=n_votes > 0,
        )
        return patterns.priors(posterior), accuracy

    def expect(priors: FloatArray, accuracy: FloatArray) -> tuple[FloatArray, float]:
        joint = patterns.log_joint(_log_chances(accuracy, votes.n_options))
        posterior, evidence = normalised(joint + log_or_impossible(priors)[:, None])
        return posterior, float(evidence @ patterns.n_items)

    def step(posterior: FloatArray) -> tuple[FloatArray, float]:
        priors, accuracy = maximise(posterior)
        updated, log_likelihood = expect(priors, accuracy)
        known = accuracy[n_votes > 0]
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
    """Log probability by truth, annotator and choice, shape (n_options, n_annotators, n_options).

    An annotator who is never right, or never wrong, has an impossible choice.
    """
    is_right = np.eye(n_options, dtype=bool)[:, None, :]
    right, wrong = log_or_impossible(accuracy), log_or_impossible((1 - accuracy) / (n_options - 1))
    return np.where(is_right, right[:, None], wrong[:, None])


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """Maximum-likelihood answers and confusion matrices of Dawid and Skene.

    Attributes
    ----------
    posterior : ndarray of float, shape (n_items, n_options)
        Probability of each option; for an item without votes, the priors.
    answer : ndarray of int, shape (n_items,)
        The most probable option; -1 without votes or if two are equally probable.
    priors : ndarray of float, shape (n_options,)
        Estimated shares of the options.
    confusion : ndarray of float, shape (n_annotators, n_options, n_options)
        Probability of each choice (last axis) given the true option (middle axis). Uniform
        if the annotator never saw that option.
    log_likelihood : float
        At `priors` and `confusion`.
    n_iterations : int
    converged : bool
        Whether the steps converged within their limit.
    collapsed : tuple of int
        Options that somebody chose but that are most probable for no item: the model explained them
        all as errors, so check its answers.
    """

    posterior: FloatArray
    answer: IntArray
    priors: FloatArray
    confusion: FloatArray
    log_likelihood: float
    n_iterations: int
    converged: bool
    collapsed: tuple[int, ...]

    @property
    def informativeness(self) -> FloatArray:
        """Information about the truth in one choice of each annotator, in bits, (n_annotators,).

        Mutual information of choice and truth: 0 for an annotator who ignores the item, for example
        always chooses the same, and equally high for one who is always wrong and one who is always
        right.
        """
        joint = self.priors[:, None] * self.confusion
        independent = self.priors[:, None] * joint.sum(axis=1, keepdims=True)
        # An impossible pair of truth and choice adds nothing.
        odds = np.divide(joint, independent, out=np.ones_like(joint), where=joint > 0)
        return np.asarray((joint * np.log2(odds)).sum(axis=(1, 2)), dtype=np.float64)


def dawid_skene(
    votes: Votes,
    *,
    smoothing: float = 0.01,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_STEPS,
) -> DawidSkene:
    r"""Estimate true options and annotators' confusion matrices together.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators, in long form; repeated readings count separately.
    smoothing : float, default 0.01
        Added to every expected count before a confusion row is normalised. 0 is the original
        method.
    tolerance : float, default 1e-10
        Stop when a step gains less log-likelihood and changes no posterior probability by more than
        1e-8.
    max_iterations : int, default 1000
        Steps of expectation-maximisation.

    Returns
    -------
    DawidSkene

    Raises
    ------
    ValueError
        If `smoothing` is negative or `max_iterations` is below 1.

    Notes
    -----
    Accelerated expectation-maximisation [2]_, started from the vote shares, which also identifies
    the classes. M-step: :math:`p_q = \operatorname{mean}_i T_{iq}`, :math:`\pi_{jql} \propto
    \epsilon + \sum_i T_{iq} n_{ijl}`; E-step in log space: :math:`T_{iq} \propto p_q \prod_{jl}
    \pi_{jql}^{n_{ijl}}`. An annotator who never sees class q has a uniform row. Items with
    identical answers from the same annotators are computed once; one iteration costs O(votes x
    options). Priors use items with votes only.

    A confusion matrix of two options from 30 labels is mostly noise. With so few items, use the
    answers, not the matrices.

    References
    ----------
    .. [1] A. P. Dawid and A. M. Skene, "Maximum Likelihood Estimation of Observer Error-Rates
       Using the EM Algorithm", Applied Statistics 28(1), 1979.
    .. [2] R. Varadhan and C. Roland, "Simple and Globally Convergent Methods for Accelerating
       the Convergence of Any EM Algorithm", Scandinavian Journal of Statistics 35, 2008.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> dawid_skene(votes).answer.tolist()
    [0, 0, 1, 1]
    """
    if smoothing < 0:
        raise ValueError(f"`smoothing` must not be negative, got {smoothing}.")
    if max_iterations < 1:
        raise ValueError(f"`max_iterations` must be at least 1, got {max_iterations}.")

    patterns = Patterns.of(votes)

    def expect(priors: FloatArray, log_confusion: FloatArray) -> tuple[FloatArray, float]:
        joint = patterns.log_joint(log_confusion.transpose(1, 0, 2))
        posterior, evidence = normalised(joint + log_or_impossible(priors)[:, None])
        return posterior, float(evidence @ patterns.n_items)

    def step(posterior: FloatArray) -> tuple[FloatArray, float]:
        log_confusion = log_or_impossible(_confusion(patterns, posterior, smoothing))
        updated, log_likelihood = expect(patterns.priors(posterior), log_confusion)
        # Smoothing acts as a Dirichlet prior of each row and is part of the objective.
        prior = smoothing * float(log_confusion.sum()) if smoothing else 0.0
        return updated, log_likelihood + prior

    reached = climb(
        step,
        patterns.shares,
        allow=allowed_shares,
        weights=patterns.n_items,
        tolerance=tolerance,
        max_steps=max_iterations,
    )
    priors = patterns.priors(reached.state)
    confusion = _confusion(patterns, reached.state, smoothing)
    by_pattern, log_likelihood = expect(priors, log_or_impossible(confusion))
    posterior = patterns.by_item(by_pattern, priors)
    counts = votes.counts()
    voted = counts.sum(axis=1) > 0

    answer, _ = single_maximum(posterior, np.ones_like(posterior, dtype=bool))
    answer = np.where(voted, answer, -1)
    chosen = counts.sum(axis=0) > 0
    winners = np.bincount(answer[answer >= 0], minlength=votes.n_options) > 0
    return DawidSkene(
        posterior=posterior,
        answer=answer,
        priors=priors,
        confusion=confusion,
        log_likelihood=log_likelihood,
        n_iterations=reached.n_steps,
        converged=reached.converged,
        collapsed=tuple(np.flatnonzero(chosen & ~winners).tolist()),
    )


def _confusion(patterns: Patterns, posterior: FloatArray, smoothing: float) -> FloatArray:
    """M-step: row-normalised expected counts, shape (n_annotators, n_options, n_options)."""
    expected = patterns.expected(posterior) + smoothing
    totals = expected.sum(axis=2, keepdims=True)
    uniform = np.full(expected.shape, 1 / len(posterior))
    return np.asarray(np.divide(expected, totals, out=uniform, where=totals > 0))
