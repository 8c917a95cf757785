"""Agreement and majorities expected from accuracy: independent errors, or a shared guess."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrc

from ..core.results import Estimate, Reason


def expected_agreement(accuracy: float, *, n_options: int = 2) -> float:
    r"""Expected agreement of two annotators whose errors are independent.

    Parameters
    ----------
    accuracy : float
        Share of right answers of a single annotator, in [0, 1].
    n_options : int, default 2
        Options offered; a wrong answer is any of the others with equal probability.

    Returns
    -------
    float
        :math:`a^2 + (1-a)^2/(C-1)`. Observed agreement above it means that annotators err on
        the same items.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(expected_agreement(0.596), 3)
    0.518
    """
    _check_share("accuracy", accuracy)
    if n_options < 2:
        raise ValueError(f"`n_options` must be at least 2, got {n_options}.")
    return accuracy**2 + (1 - accuracy) ** 2 / (n_options - 1)


def expected_majority_accuracy(accuracy: float, *, n_annotators: int = 3) -> float:
    r"""Expected accuracy of the majority of annotators whose errors are independent.

    Parameters
    ----------
    accuracy : float
        Share of right answers of a single annotator between two options, in [0, 1].
    n_annotators : int, default 3
        Odd, so that there are no ties.

    Returns
    -------
    float
        :math:`\sum_{k > n/2} \binom{n}{k} a^k (1-a)^{n-k}`.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> round(expected_majority_accuracy(0.596), 9)
    0.642230528
    """
    _check_share("accuracy", accuracy)
    if n_annotators < 1 or n_annotators % 2 == 0:
        raise ValueError(f"`n_annotators` must be odd, got {n_annotators}.")
    return float(bdtrc(n_annotators // 2, n_annotators, accuracy))


@dataclass(frozen=True)
class SharedStereotype:
    """Two-parameter model of annotators who follow a common guess.

    Attributes
    ----------
    follows : float or None
        c: probability that an annotator follows the guess that all of them share, at least 1/2.
    right : float or None
        r: probability that the shared guess is right.
    reason : str or None
        Why they are None.
    majority_accuracy : Estimate
        Accuracy of the majority that the model predicts.
    agreement_from_accuracy : float
        Agreement that follows from the accuracy alone; see `expected_agreement`.
    """

    follows: float | None
    right: float | None
    reason: Reason | None
    majority_accuracy: Estimate
    agreement_from_accuracy: float


def shared_stereotype(
    agreement: float, accuracy: float, *, n_annotators: int = 3
) -> SharedStereotype:
    r"""Fit the model of a shared guess to agreement and accuracy between two options.

    Parameters
    ----------
    agreement : float
        Share of pairs of annotators of one item that agree, in [0, 1].
    accuracy : float
        Share of right answers of single annotators, in [0, 1].
    n_annotators : int, default 3
        Annotators of the predicted majority; odd.

    Returns
    -------
    SharedStereotype
        Undefined (``"not_identified"``) if the agreement is at most 1/2, so that no shared
        guess shows, or if no r in [0, 1] gives the accuracy.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    On every item all annotators see one guess, each follows it with probability c
    independently, and it is right with probability r. Then agreement is
    :math:`c^2 + (1-c)^2`, accuracy :math:`rc + (1-r)(1-c)`, and with m the probability that
    a majority follows the guess, majority accuracy is :math:`rm + (1-r)(1-m)`. The first two
    equations give c (the root of at least 1/2) and r; the third is a prediction that the
    observed majority accuracy can contradict.

    References
    ----------
    .. [1] The published .597 and .596 of Dong, Hu and Collier, "Can LLM be a Personalized
       Judge?", 2024, give c = .720 and r = .718, and predict .635; they report .633.

    Examples
    --------
    >>> model = shared_stereotype(0.597, 0.596)
    >>> round(model.follows, 3), round(model.right, 3), round(model.majority_accuracy.value, 3)
    (0.72, 0.718, 0.635)
    """
    _check_share("agreement", agreement)
    alone = expected_agreement(accuracy)
    follows = (1 + max(2 * agreement - 1, 0.0) ** 0.5) / 2
    right = (accuracy - (1 - follows)) / (2 * follows - 1) if follows > 0.5 else -1.0
    # A rounding error outside [0, 1] does not contradict the model.
    if not -1e-9 <= right <= 1 + 1e-9:
        undefined = Estimate(None, "not_identified")
        return SharedStereotype(None, None, "not_identified", undefined, alone)
    right = min(max(right, 0.0), 1.0)
    m = expected_majority_accuracy(follows, n_annotators=n_annotators)
    predicted = Estimate(right * m + (1 - right) * (1 - m))
    return SharedStereotype(follows, right, None, predicted, alone)


def guessed_majority(follows: float, right: float, answers: npt.ArrayLike) -> float | None:
    """Accuracy that the model predicts for majorities of so many answers; ties are left out."""
    n, items = np.unique(np.asarray(answers, dtype=np.int64), return_counts=True)
    with_guess, against = bdtrc(n // 2, n, follows), bdtr((n - 1) // 2, n, follows)
    decided = float(items @ (with_guess + against))
    if not decided:
        return None
    return float(items @ (right * with_guess + (1 - right) * against)) / decided


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"`{name}` must lie in 0..1, got {value}.")
