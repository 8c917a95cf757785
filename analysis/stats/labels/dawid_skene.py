"""Dawid and Skene's model with one confusion matrix per annotator."""

from dataclasses import dataclass

import numpy as np

from ..core.fixed_point import MAX_STEPS, TOLERANCE, climb
from ..core.results import BoolArray, FloatArray, IntArray
from ..core.votes import Votes
from .aggregation import allowed_shares, log_total, single_maximum


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
    class q has a uniform row. One iteration costs O(votes x options). Priors use items
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

    counts = votes.counts()
    n_votes = counts.sum(axis=1)
    voted = n_votes > 0
    shares: FloatArray = counts / np.maximum(n_votes, 1)[:, None]

    def step(posterior: FloatArray) -> tuple[FloatArray, float]:
        priors, confusion = _priors(posterior[voted]), _confusion(votes, posterior, smoothing)
        updated, log_likelihood = _expected(votes, voted, priors, confusion)
        # What smoothing adds to the likelihood that it climbs: a Dirichlet prior of each row.
        prior = smoothing * float(np.log(confusion).sum()) if smoothing else 0.0
        return updated, log_likelihood + prior

    reached = climb(
        step, shares, allow=allowed_shares, tolerance=tolerance, max_steps=max_iterations
    )
    priors = _priors(reached.state[voted])
    confusion = _confusion(votes, reached.state, smoothing)
    posterior, log_likelihood = _expected(votes, voted, priors, confusion)

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


def _expected(
    votes: Votes, voted: BoolArray, priors: FloatArray, confusion: FloatArray
) -> tuple[FloatArray, float]:
    """E-step: posterior of every item, and the log-likelihood of the votes."""
    joint = _log_joint(votes, priors, confusion)
    evidence = log_total(joint)
    return np.exp(joint - evidence), float(evidence[voted].sum())


def _priors(posterior: FloatArray) -> FloatArray:
    """M-step: mean posterior of the voted items; uniform where there are none."""
    if not len(posterior):
        return np.full(posterior.shape[1], 1 / posterior.shape[1])
    # Sums of a few columns; `mean` takes four times as long and gives the same.
    return np.asarray(np.einsum("iq->q", posterior) / len(posterior))


def _confusion(votes: Votes, posterior: FloatArray, smoothing: float) -> FloatArray:
    """M-step: row-normalised expected counts, shape (n_annotators, n_options, n_options)."""
    size = votes.n_annotators * votes.n_options
    cell = votes.annotator * votes.n_options + votes.choice
    by_class = [
        np.bincount(
            cell, np.ascontiguousarray(posterior[:, q])[votes.item], minlength=size
        ).reshape(votes.n_annotators, votes.n_options)
        for q in range(votes.n_options)
    ]
    expected = np.stack(by_class, axis=1) + smoothing
    totals = expected.sum(axis=2, keepdims=True)
    uniform = np.full(expected.shape, 1 / votes.n_options)
    return np.asarray(np.divide(expected, totals, out=uniform, where=totals > 0))


def _log_joint(votes: Votes, priors: FloatArray, confusion: FloatArray) -> FloatArray:
    """E-step before normalising: log p(q) + sum of log pi, shape (n_items, n_options)."""
    # log(0) is a valid minus infinity: an impossible class, or an impossible choice given a class.
    with np.errstate(divide="ignore"):
        log_priors, log_confusion = np.log(priors), np.log(confusion)
    cell = votes.annotator * votes.n_options + votes.choice
    columns = [
        np.bincount(votes.item, log_confusion[:, q].ravel()[cell], minlength=votes.n_items)
        for q in range(votes.n_options)
    ]
    return np.asarray(np.stack(columns, axis=1) + log_priors, dtype=np.float64)
