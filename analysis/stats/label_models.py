"""Two more models of how annotators come to their answers: who spams, and what is hard."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize
from scipy.special import digamma, expit

from .aggregation import log_total, single_maximum
from .results import BoolArray, FloatArray, IntArray
from .votes import Votes


@dataclass(frozen=True, eq=False)
class Mace:
    """Answers and competence of annotators who either know or spam.

    Attributes
    ----------
    posterior : ndarray of float, shape (n_items, n_options)
        Probability of each option; uniform for an item without votes.
    answer : ndarray of int, shape (n_items,)
        The most probable option; -1 without votes or where two are equally probable.
    competence : ndarray of float, shape (n_annotators,)
        Probability that the annotator gives the true option for knowing it; NaN without votes.
    spam : ndarray of float, shape (n_annotators, n_options)
        What the annotator chooses otherwise.
    n_iterations : int
    converged : bool
    """

    posterior: FloatArray
    answer: IntArray
    competence: FloatArray
    spam: FloatArray
    n_iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Glad:
    """Answers, ability of annotators and ease of items.

    Attributes
    ----------
    posterior, answer
        As in `Mace`.
    ability : ndarray of float, shape (n_annotators,)
        0 guesses, above it is right more often than wrong, below it the reverse; NaN without
        votes.
    ease : ndarray of float, shape (n_items,)
        Above 0; a right answer has log-odds ``ability * ease``. NaN without votes.
    n_iterations : int
    converged : bool
    """

    posterior: FloatArray
    answer: IntArray
    ability: FloatArray
    ease: FloatArray
    n_iterations: int
    converged: bool


def mace(
    votes: Votes,
    *,
    prior: tuple[float, float] = (0.5, 0.5),
    spam_prior: float = 10.0,
    tolerance: float = 1e-8,
    max_iterations: int = 500,
) -> Mace:
    r"""Find the annotators who do not look, and the answers of those who do (MACE).

    Parameters
    ----------
    votes : Votes
        Choices of the annotators.
    prior : tuple of float, default (0.5, 0.5)
        Beta prior of competence: of knowing and of spamming. The default expects annotators
        who do either most of the time.
    spam_prior : float, default 10
        Dirichlet prior of every option of the spam distribution.
    tolerance : float, default 1e-8
        Stop when no posterior probability moves by more.
    max_iterations : int, default 500

    Returns
    -------
    Mace

    Raises
    ------
    ValueError
        If a prior is not positive or `max_iterations` is below 1.

    Notes
    -----
    :math:`P(l\mid q)=\theta_j[l=q]+(1-\theta_j)\xi_{jl}` with a uniform prior of the options, by
    variational Bayes: parameters enter by :math:`\exp(\psi(n+\alpha)-\psi(\sum(n+\alpha)))`.
    Started from the vote shares instead of at random, so that there is one result.

    References
    ----------
    .. [1] D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, "Learning Whom to Trust with
       MACE", NAACL 2013.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 0], [1, 1, 0]])
    >>> fitted = mace(votes)
    >>> fitted.answer.tolist(), bool(fitted.competence[2] < fitted.competence[0])
    ([0, 1, 0, 1, 1], True)
    """
    if min(*prior, spam_prior) <= 0:
        raise ValueError(f"Priors must be positive, got {prior} and {spam_prior}.")
    _check_iterations(max_iterations)
    posterior, voted, given = _start(votes)
    # What a choice is worth at the start: as if everybody knew half of the time.
    theta = np.full(votes.n_annotators, 0.5)
    spam = np.full((votes.n_annotators, votes.n_options), 1 / votes.n_options)
    known: FloatArray = np.zeros(votes.n_annotators)
    iteration, converged = 0, False
    while not converged and iteration < max_iterations:
        iteration += 1
        # Of the votes that equal the truth some are known and some are lucky spam.
        hit = posterior[votes.item, votes.choice]
        lucky = (1 - theta[votes.annotator]) * spam[votes.annotator, votes.choice]
        knowing = theta[votes.annotator]
        share = hit * knowing / np.maximum(knowing + lucky, 1e-300)
        known = np.bincount(votes.annotator, share, minlength=votes.n_annotators).astype(np.float64)
        cell = votes.annotator * votes.n_options + votes.choice
        spammed = np.bincount(cell, 1 - share, minlength=spam.size).reshape(spam.shape)
        knowing_weight = np.exp(digamma(known + prior[0]) - digamma(given + sum(prior)))
        spam_weight = np.exp(digamma(given - known + prior[1]) - digamma(given + sum(prior)))
        counts = spammed + spam_prior
        spam = np.exp(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True)))
        theta = knowing_weight / (knowing_weight + spam_weight)
        wrong = spam_weight[votes.annotator] * spam[votes.annotator, votes.choice]
        gain = np.log(1 + knowing_weight[votes.annotator] / wrong)
        updated = _posterior(votes, gain)
        converged = float(np.abs(updated - posterior).max(initial=0.0)) < tolerance
        posterior = updated
    counts = spammed + spam_prior
    return Mace(
        posterior=posterior,
        answer=_answer(posterior, voted),
        competence=np.where(given > 0, (known + prior[0]) / (given + sum(prior)), np.nan),
        spam=counts / counts.sum(axis=1, keepdims=True),
        n_iterations=iteration,
        converged=converged,
    )


def glad(
    votes: Votes,
    *,
    strength: float = 1.0,
    tolerance: float = 1e-6,
    max_iterations: int = 200,
) -> Glad:
    r"""Answers, ability of annotators and ease of items together (GLAD).

    Parameters
    ----------
    votes : Votes
        Choices of the annotators.
    strength : float, default 1
        Weight of the normal priors of ability (mean 1) and log ease (mean 0); 1 is standard
        deviation 1.
    tolerance : float, default 1e-6
        Stop when no posterior probability moves by more.
    max_iterations : int, default 200

    Returns
    -------
    Glad

    Raises
    ------
    ValueError
        If `strength` is not positive or `max_iterations` is below 1.

    Notes
    -----
    :math:`P(right)=\sigma(\alpha_j\beta_i)`, a wrong answer any of the others alike, options
    equally likely beforehand. Expectation-maximisation; the M-step climbs the gradient with a
    few steps of L-BFGS, which is enough for EM to rise.

    References
    ----------
    .. [1] J. Whitehill, P. Ruvolo, T. Wu, J. Bergsma and J. Movellan, "Whose Vote Should Count
       More: Optimal Integration of Labels from Labelers of Unknown Expertise", NIPS 2009.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 1, 0]])
    >>> fitted = glad(votes)
    >>> fitted.answer.tolist(), bool(fitted.ability[2] < fitted.ability[0])
    ([0, 1, 0, 1, 1], True)
    """
    if strength <= 0:
        raise ValueError(f"`strength` must be positive, got {strength}.")
    _check_iterations(max_iterations)
    posterior, voted, given = _start(votes)
    n = votes.n_annotators
    x = np.concatenate([np.ones(n), np.zeros(votes.n_items)])
    others = votes.n_options - 1
    iteration, converged = 0, False
    while not converged and iteration < max_iterations:
        iteration += 1
        hit = posterior[votes.item, votes.choice]

        def loss(x: FloatArray, hit: FloatArray = hit) -> tuple[float, FloatArray]:
            ability, log_ease = x[:n], x[n:]
            ease = np.exp(log_ease)
            a, b = ability[votes.annotator], ease[votes.item]
            score = a * b
            fit = hit @ -np.logaddexp(0, -score) + (1 - hit) @ -np.logaddexp(0, score)
            slope = hit - expit(score)
            gradient = np.concatenate(
                [
                    np.bincount(votes.annotator, slope * b, minlength=n),
                    np.bincount(votes.item, slope * score, minlength=votes.n_items),
                ]
            )
            pull = np.concatenate([ability - 1, log_ease])
            value = -float(fit) + strength * float(pull @ pull) / 2
            return value, strength * pull - gradient

        bounds = [(None, None)] * n + [(-4, 4)] * votes.n_items
        if x.size:
            x = optimize.minimize(
                loss, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 10}
            ).x
        score = x[:n][votes.annotator] * np.exp(x[n:])[votes.item]
        updated = _posterior(votes, score + np.log(others))
        converged = float(np.abs(updated - posterior).max(initial=0.0)) < tolerance
        posterior = updated
    return Glad(
        posterior=posterior,
        answer=_answer(posterior, voted),
        ability=np.where(given > 0, x[:n], np.nan),
        ease=np.where(voted, np.exp(x[n:]), np.nan),
        n_iterations=iteration,
        converged=converged,
    )


def _check_iterations(max_iterations: int) -> None:
    if max_iterations < 1:
        raise ValueError(f"`max_iterations` must be at least 1, got {max_iterations}.")


def _start(votes: Votes) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Vote shares, which items have votes, and how many votes each annotator gave."""
    counts = votes.counts()
    n_votes = counts.sum(axis=1)
    shares = np.full(counts.shape, 1 / votes.n_options)
    voted = n_votes > 0
    shares[voted] = counts[voted] / n_votes[voted][:, None]
    given = np.bincount(votes.annotator, minlength=votes.n_annotators).astype(np.float64)
    return shares, voted, given


def _posterior(votes: Votes, gain: FloatArray) -> FloatArray:
    """Options by the summed log odds `gain`, shape (n,), that each vote gives to its choice."""
    cell = votes.item * votes.n_options + votes.choice
    totals = np.bincount(cell, gain, minlength=votes.n_items * votes.n_options)
    joint = totals.reshape(votes.n_items, votes.n_options).astype(np.float64, copy=False)
    return np.asarray(np.exp(joint - log_total(joint)))


def _answer(posterior: FloatArray, voted: BoolArray) -> IntArray:
    answer, _ = single_maximum(posterior, np.ones_like(posterior, dtype=bool))
    return np.where(voted, answer, -1)
