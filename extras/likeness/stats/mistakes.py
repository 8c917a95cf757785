"""Mistakes and guesses that people and model share."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.core.bootstrap import Statistic, count_rows, estimate_with_interval, ratio
from analysis.stats.core.results import Estimate, FloatArray, Reason, check_level, known_rows
from analysis.stats.core.votes import Votes


@dataclass(frozen=True)
class ErrorConsistency:
    """Agreement of two sides on being right or wrong.

    Attributes
    ----------
    kappa : Estimate
        Agreement of right and wrong beyond chance from both accuracies: 1 for the same mistakes, 0
        for unrelated ones, negative if one tends to be right where the other is wrong.
    observed, expected : float or None
        Share of items on which both are right or both wrong, and what chance gives.
    n_both_right, n_first_only, n_second_only, n_both_wrong : int
        Items by the sides that are right.
    n, n_missing : int
        Items used, and items without both sides.
    """

    kappa: Estimate
    observed: float | None
    expected: float | None
    n_both_right: int
    n_first_only: int
    n_second_only: int
    n_both_wrong: int
    n: int
    n_missing: int


@dataclass(frozen=True)
class SharedGuess:
    """People and model in the model of a shared guess.

    Attributes
    ----------
    people_follow, right : Estimate
        c: probability that a person follows the common guess, and r: that the guess is right.
    model_follows_right, model_follows_wrong : Estimate
        Probability that the model follows the people's guess if it is right, and if it is wrong. A
        model that shares the stereotype follows both equally.
    n : int
        Items with a truth, the model's answer and at least two people's.
    reason : str or None
        Why all of them are None: ``"no_pairs"``, or ``"not_identified"`` if people agree no
        more than by chance or the guess is always right or always wrong.
    """

    people_follow: Estimate
    right: Estimate
    model_follows_right: Estimate
    model_follows_wrong: Estimate
    n: int
    reason: Reason | None = None


def error_consistency(
    first_right: npt.ArrayLike,
    second_right: npt.ArrayLike,
    *,
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> ErrorConsistency:
    r"""Agreement of two sides on being right or wrong, beyond chance.

    Parameters
    ----------
    first_right, second_right : array_like of int, shape (n_items,)
        1 right, 0 wrong, -1 missing, of the same items.
    n_draws : int, default 1000
        Resamples of items.
    rng : numpy.random.Generator, optional
        Source of randomness. None: no interval.
    level : float, default 0.95

    Returns
    -------
    ErrorConsistency
        `kappa` is undefined below two items (``"too_few_items"``) and if both sides are always
        right or both always wrong (``"no_variation"``).

    Raises
    ------
    ValueError
        If the shapes differ or a value is out of range.

    Notes
    -----
    :math:`\kappa=\frac{c_{obs}-c_{exp}}{1-c_{exp}}` with
    :math:`c_{exp}=p_1p_2+(1-p_1)(1-p_2)`: Cohen's kappa of being right. With two accuracies that
    differ it cannot reach 1.

    References
    ----------
    .. [1] R. Geirhos, K. Meding and F. A. Wichmann, "Beyond Accuracy: Quantifying Trial-by-Trial
       Behaviour of CNNs and Humans by Measuring Error Consistency", NeurIPS 2020.

    Examples
    --------
    >>> result = error_consistency([1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 1])
    >>> round(result.kappa.value, 3), result.n_both_wrong
    (0.333, 2)
    """
    (first, known_1), (second, known_2) = known_rows(first_right), known_rows(second_right)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"The two sides differ in shape: {first.shape} and {second.shape}.")
    both = known_1 & known_2
    cell = 2 * (1 - first[both]) + (1 - second[both])
    rows = np.eye(4)[cell]
    kappa = estimate_with_interval(_kappa, rows, "no_variation", n_draws, rng, level)
    n = int(both.sum())
    if n == 1:
        kappa = Estimate(None, "too_few_items")
    right, first_only, second_only, wrong = np.bincount(cell, minlength=4).tolist()
    observed = expected = None
    if n:
        share_1, share_2 = (right + first_only) / n, (right + second_only) / n
        observed = (right + wrong) / n
        expected = share_1 * share_2 + (1 - share_1) * (1 - share_2)
    return ErrorConsistency(
        *(kappa, observed, expected, right, first_only, second_only, wrong),
        n=n,
        n_missing=int(np.sum(~both)),
    )


def shared_guess(
    votes: Votes,
    model: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> SharedGuess:
    r"""Split the model's agreement with people by whether their common guess is right.

    Parameters
    ----------
    votes : Votes
        Choices of people between two options.
    model : array_like of int, shape (n_items,)
        The model's choice, -1 missing.
    truth : array_like of int, shape (n_items,)
        True option; -1 is unknown.
    n_draws : int, default 1000
        Resamples of items.
    rng : numpy.random.Generator, optional
        Source of randomness. None: no intervals.
    level : float, default 0.95

    Returns
    -------
    SharedGuess
        Probabilities are cut off at 0 and 1, which sampling may exceed.

    Raises
    ------
    ValueError
        If the lengths differ or there are more than two options.

    Notes
    -----
    As in `shared_stereotype`, one guess per item, followed by each person with probability
    c and right with probability r; agreement and accuracy of people give both. With m the
    accuracy of the model, q the probability that model and person are both right, and follow
    probabilities :math:`d_1` (guess right) and :math:`d_0` (wrong),
    :math:`m=rd_1+(1-r)(1-d_0)` and :math:`q=crd_1+(1-c)(1-r)(1-d_0)`: two linear equations. People
    are averaged within items, so an item with more people has no more weight. The model must have
    answered independently: one that copies these people also agrees with their slips.

    Examples
    --------
    >>> rng = np.random.default_rng(5)
    >>> guess = (rng.random(4000) < 0.3).astype(int)  # 0 is right, so the guess is in 70%
    >>> people = np.where(rng.random((4000, 3)) < 0.8, guess[:, None], 1 - guess[:, None])
    >>> model = np.where(rng.random(4000) < 0.9, guess, 1 - guess)
    >>> result = shared_guess(Votes.from_matrix(people), model, np.zeros(4000, dtype=int))
    >>> round(result.people_follow.value, 1), round(result.right.value, 1)
    (0.8, 0.7)
    >>> round(result.model_follows_right.value, 1), round(result.model_follows_wrong.value, 1)
    (0.9, 0.9)
    """
    check_level(level)
    if votes.n_options != 2:
        raise ValueError(f"The model is for two options, `votes` has {votes.n_options}.")
    choice, truths = np.asarray(model, dtype=np.int64), np.asarray(truth, dtype=np.int64)
    if not choice.shape == truths.shape == (votes.n_items,):
        raise ValueError(
            "`model` and `truth` must have one value per item, got "
            f"{choice.size} and {truths.size} of {votes.n_items}."
        )
    counts = votes.counts()
    usable = (counts.sum(axis=1) >= 2) & (choice >= 0) & np.isin(truths, (0, 1))
    items = np.flatnonzero(usable)
    if items.size < 2:
        undefined = Estimate(None, "no_pairs")
        return SharedGuess(*(undefined,) * 4, n=int(items.size), reason="no_pairs")
    right = counts[items, truths[items]]
    # Right votes, votes, and whether the model is right: sufficient for the moments.
    rows = count_rows(
        np.stack([right, counts[items].sum(axis=1), choice[items] == truths[items]], axis=1)
    )
    follows, is_right, follows_right, follows_wrong = (
        estimate_with_interval(_parameter(position), rows, "not_identified", n_draws, rng, level)
        for position in range(4)
    )
    return SharedGuess(
        people_follow=follows,
        right=is_right,
        model_follows_right=follows_right,
        model_follows_wrong=follows_wrong,
        n=int(items.size),
        reason=follows.reason,
    )


def _kappa(weights: FloatArray, rows: FloatArray) -> FloatArray:
    """Cohen's kappa of right and wrong from the four cells."""
    right, first_only, second_only, wrong = (weights @ rows).T
    n = right + first_only + second_only + wrong
    share_1, share_2 = right + first_only, right + second_only
    # All multiplied by n squared, so that whole numbers decide whether kappa is defined.
    chance = share_1 * share_2 + (n - share_1) * (n - share_2)
    return ratio(n * (right + wrong) - chance, n * n - chance)


def _parameter(position: int) -> Statistic:
    return lambda weights, rows: _parameters(weights, rows)[position]


def _parameters(weights: FloatArray, rows: FloatArray) -> tuple[FloatArray, ...]:
    """c, r and the model's two follow probabilities per resample; NaN where not identified."""
    right, m, model = rows.T
    n = weights.sum(axis=1)
    agreement = (
        weights @ ((right * (right - 1) + (m - right) * (m - right - 1)) / (m * (m - 1))) / n
    )
    accuracy, of_model, both = (weights @ x / n for x in (right / m, model, model * right / m))
    follows = (1 + np.sqrt(np.maximum(2 * agreement - 1, 0))) / 2
    lean = 2 * follows - 1
    guess_right = ratio(accuracy - (1 - follows), lean)
    identified = (lean > 1e-9) & (guess_right > 1e-9) & (guess_right < 1 - 1e-9)
    guess_right = np.where(identified, guess_right, np.nan)
    model_right = ratio(both - (1 - follows) * of_model, lean)
    follow_right = np.clip(model_right / guess_right, 0, 1)
    follow_wrong = np.clip(1 - (of_model - model_right) / (1 - guess_right), 0, 1)
    return np.where(identified, follows, np.nan), guess_right, follow_right, follow_wrong
