"""Models of annotators who spam (MACE) and of items that are hard (GLAD)."""

from dataclasses import dataclass

import numpy as np
from scipy import optimize
from scipy.special import digamma, expit, gammaln

from analysis.stats.core.aggregation import single_maximum
from analysis.stats.core.results import BoolArray, FloatArray, IntArray
from analysis.stats.core.votes import Votes
from extras.label_models.stats.fitting import MAX_STEPS, TOLERANCE, Patterns, climb, normalised

MAX_LOG_EASE = 300.0  # largest value that a step may try without overflow


@dataclass(frozen=True, eq=False)
class Mace:
    """Answers, and competence of annotators who either know or spam, by MACE.

    Attributes
    ----------
    posterior : ndarray of float, shape (n_items, n_options)
        Probability of each option; uniform for an item without votes.
    answer : ndarray of int, shape (n_items,)
        The most probable option; -1 without votes or if two are equally probable.
    competence : ndarray of float, shape (n_annotators,)
        Probability that the annotator knows the true option; NaN without votes.
    spam : ndarray of float, shape (n_annotators, n_options)
        Probability of each choice otherwise.
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
        0 for guessing, positive if right more often than wrong, negative for the reverse; NaN
        without votes.
    ease : ndarray of float, shape (n_items,)
        Positive; a right answer has log-odds ``ability * ease``. NaN without votes.
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
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_STEPS,
) -> Mace:
    r"""Fit MACE: annotators who either know the answer or choose by habit.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators.
    prior : tuple of float, default (0.5, 0.5)
        Beta prior of competence: knowing and spamming. The default expects annotators who mostly do
        one or the other.
    spam_prior : float, default 10
        Dirichlet prior of each option in the spam distribution.
    tolerance : float, default 1e-10
        Stop when a step raises the variational bound by less and changes no expected count by more
        than 1e-8.
    max_iterations : int, default 1000
        Steps, accelerated as in `dawid_skene`.

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
    It starts from the vote shares instead of at random, so the result is unique.

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
    patterns = Patterns.of(votes)
    chosen = patterns.chosen
    n_votes = chosen.sum(axis=1)

    def fit(spammed: FloatArray) -> _Spamming:
        return _Spamming.of(spammed, n_votes, prior, spam_prior)

    def expect(fitted: _Spamming) -> tuple[FloatArray, FloatArray, float]:
        # All of an annotator's votes for an option have the same odds.
        knowing = fitted.knowing[:, None]
        wrong = fitted.spamming[:, None] * fitted.spam
        posterior, total = normalised(patterns.log_joint_of_right(np.log1p(knowing / wrong)))
        # A vote for the likely truth comes from knowledge or luck, any other from spamming.
        known = knowing / (knowing + wrong)
        spammed = chosen - known * patterns.expected_right(posterior)
        evidence = float((chosen * np.log(wrong)).sum())
        evidence += float((total - np.log(votes.n_options)) @ patterns.n_items)
        return posterior, spammed, evidence - fitted.divergence

    def step(spammed: FloatArray) -> tuple[FloatArray, float]:
        _, updated, bound = expect(fit(spammed))
        return updated, bound

    def allow(guess: FloatArray, near: FloatArray) -> FloatArray:
        return np.clip(guess, near / 100, chosen - (chosen - near) / 100)

    # Initial weight of a choice, as if everybody knew half of the time.
    half = 1 / (1 + votes.n_options)
    start = chosen - (1 - half) * patterns.expected_right(patterns.shares)
    reached = climb(step, start, allow=allow, tolerance=tolerance, max_steps=max_iterations)
    by_pattern, _, _ = expect(fit(reached.state))
    uniform = np.full(votes.n_options, 1 / votes.n_options)
    posterior = patterns.by_item(by_pattern, uniform)
    known = n_votes - reached.state.sum(axis=1)
    counts = reached.state + spam_prior
    return Mace(
        posterior=posterior,
        answer=_answer(posterior, patterns.of_item >= 0),
        competence=np.where(n_votes > 0, (known + prior[0]) / (n_votes + sum(prior)), np.nan),
        spam=counts / counts.sum(axis=1, keepdims=True),
        n_iterations=reached.n_steps,
        converged=reached.converged,
    )


@dataclass(frozen=True, eq=False)
class _Spamming:
    """Expected parameters of MACE given how often each annotator spammed each option.

    `knowing`, `spamming` and `spam` are exponentials of expected logarithms, which add up to less
    than 1; `divergence` is that of the parameters' distribution from their prior.
    """

    knowing: FloatArray
    spamming: FloatArray
    spam: FloatArray
    divergence: float

    @classmethod
    def of(
        cls, spammed: FloatArray, n_votes: FloatArray, prior: tuple[float, float], spam_prior: float
    ) -> "_Spamming":
        known = n_votes - spammed.sum(axis=1)
        ways = np.stack([known + prior[0], n_votes - known + prior[1]], axis=1)
        counts = spammed + spam_prior
        log_ways, log_spam = _expected_logs(ways), _expected_logs(counts)
        divergence = _divergence(ways, np.array(prior), log_ways)
        divergence += _divergence(counts, np.full(counts.shape[1], spam_prior), log_spam)
        weights = np.exp(log_ways)
        return cls(weights[:, 0], weights[:, 1], np.exp(log_spam), divergence)


def _expected_logs(counts: FloatArray) -> FloatArray:
    """Expected logarithms of Dirichlet-distributed shares, one distribution per row."""
    return np.asarray(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True)))


def _divergence(counts: FloatArray, prior: FloatArray, logs: FloatArray) -> float:
    """Kullback-Leibler divergence of Dirichlet distributions from their prior, over all rows."""
    own = gammaln(counts.sum(axis=1)).sum() - gammaln(counts).sum()
    theirs = len(counts) * (gammaln(prior.sum()) - gammaln(prior).sum())
    return float(own - theirs + ((counts - prior) * logs).sum())


def glad(
    votes: Votes,
    *,
    strength: float = 1.0,
    tolerance: float = 1e-5,
    max_iterations: int = MAX_STEPS,
) -> Glad:
    r"""Fit GLAD: answers, ability of annotators and ease of items together.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators.
    strength : float, default 1
        Weight of the normal priors of ability (mean 1) and log ease (mean 0); 1 is standard
        deviation 1.
    tolerance : float, default 1e-5
        Stop when no slope of the penalised log-likelihood is steeper. Its curvature is at least
        `strength`, so the maximum is missed by at most 1e-10.
    max_iterations : int, default 1000
        Steps of L-BFGS.

    Returns
    -------
    Glad

    Raises
    ------
    ValueError
        If `strength` is not positive or `max_iterations` is below 1.

    Notes
    -----
    :math:`P(right)=\sigma(\alpha_j\beta_i)`, wrong answers equally likely, and a uniform prior of
    the options. The likelihood of the votes, with the answers summed out and the priors added, is
    maximised by L-BFGS from ability 1 and log ease 0. Expectation-maximisation has the same maxima
    and takes many times as many steps.

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
    n = votes.n_annotators
    n_votes = np.bincount(votes.annotator, minlength=n)
    voted = np.bincount(votes.item, minlength=votes.n_items) > 0
    others = float(np.log(votes.n_options - 1))

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        """Negative penalised log-likelihood of the votes, and its gradient."""
        a, b = x[:n][votes.annotator], np.exp(np.minimum(x[n:], MAX_LOG_EASE))[votes.item]
        score = a * b
        joint = _log_joint(votes, score + others)
        total = _log_total(joint)
        hit = np.exp(joint - total)[votes.item, votes.choice]
        slope = hit - expit(score)
        gradient = np.concatenate(
            [
                np.bincount(votes.annotator, slope * b, minlength=n),
                np.bincount(votes.item, slope * score, minlength=votes.n_items),
            ]
        )
        pull = np.concatenate([x[:n] - 1, x[n:]])
        fit = float(total[voted].sum()) - float(np.logaddexp(0, score).sum())
        return strength * float(pull @ pull) / 2 - fit, strength * pull - gradient

    x = np.concatenate([np.ones(n), np.zeros(votes.n_items)])
    iteration, converged = 0, True
    if votes.n:
        optimum = optimize.minimize(
            loss,
            x,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": max_iterations,
                "maxfun": 2 * max_iterations + 20,
                "maxcor": 20,
                "ftol": 0.0,
                "gtol": tolerance,
            },
        )
        x, iteration = optimum.x, int(optimum.nit)
        converged = float(np.abs(optimum.jac).max()) <= tolerance
    score = x[:n][votes.annotator] * np.exp(x[n:])[votes.item]
    posterior = _posterior(votes, score + others)
    return Glad(
        posterior=posterior,
        answer=_answer(posterior, voted),
        ability=np.where(n_votes > 0, x[:n], np.nan),
        ease=np.where(voted, np.exp(x[n:]), np.nan),
        n_iterations=iteration,
        converged=converged,
    )


def _check_iterations(max_iterations: int) -> None:
    if max_iterations < 1:
        raise ValueError(f"`max_iterations` must be at least 1, got {max_iterations}.")


def _log_total(log_values: FloatArray) -> FloatArray:
    """Logarithm of the sum over the options of each item, shape (n_items, 1).

    Summing the few options in turn is several times faster than `scipy.special.logsumexp`; minus
    infinity means an impossible option.
    """
    total = log_values[:, 0]
    for option in range(1, log_values.shape[1]):
        total = np.logaddexp(total, log_values[:, option])
    return np.asarray(total[:, None])


def _log_joint(votes: Votes, gain: FloatArray) -> FloatArray:
    """Sum per option of the log odds `gain`, shape (n,), that each vote gives to its choice."""
    cell = votes.item * votes.n_options + votes.choice
    totals = np.bincount(cell, gain, minlength=votes.n_items * votes.n_options)
    return totals.reshape(votes.n_items, votes.n_options).astype(np.float64, copy=False)


def _posterior(votes: Votes, gain: FloatArray) -> FloatArray:
    joint = _log_joint(votes, gain)
    return np.asarray(np.exp(joint - _log_total(joint)))


def _answer(posterior: FloatArray, voted: BoolArray) -> IntArray:
    answer, _ = single_maximum(posterior, np.ones_like(posterior, dtype=bool))
    return np.where(voted, answer, -1)
