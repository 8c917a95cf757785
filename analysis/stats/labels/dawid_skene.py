"""Dawid and Skene's model with one confusion matrix per annotator."""

from dataclasses import dataclass

import numpy as np

from analysis.stats.core.fixed_point import MAX_STEPS, TOLERANCE, climb
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.votes import Votes
from analysis.stats.labels.aggregation import single_maximum
from analysis.stats.labels.patterns import Patterns, allowed_shares, log_or_impossible, normalised


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
        Options that somebody chose but that are the most probable one at no item: the model
        explained all of them as errors, so check its answers.
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
        """Information in one choice of each annotator about the truth, in bits, (n_annotators,).

        Mutual information of choice and truth: 0 for somebody who ignores the item, including
        those who always choose the same, and as high for somebody who is always wrong as for one
        who is always right.
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
        Stop if a step gains less log-likelihood and changes no posterior probability by more than
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
    Expectation-maximisation, started from the vote shares, which also fixes which class is
    which, and accelerated [2]_. M-step: :math:`p_q = \operatorname{mean}_i T_{iq}`,
    :math:`\pi_{jql} \propto \epsilon + \sum_i T_{iq} n_{ijl}`; E-step in log space:
    :math:`T_{iq} \propto p_q \prod_{jl} \pi_{jql}^{n_{ijl}}`. An annotator who never sees
    class q has a uniform row. Items that the same annotators answered alike
    are computed once; one iteration costs O(votes x options). Priors use items
    with votes only.

    A confusion matrix of two options from 30 labels is mostly noise. If annotators label
    so few items, use the answers rather than the matrices.

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
        # What smoothing adds to the likelihood that it climbs: a Dirichlet prior of each row.
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
