"""Errors that a person shares with a judge, and a guess that all people share."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, expit, gammaln, logit, xlog1py, xlogy

from ..core.results import Estimate, FloatArray, IntArray, Reason, known_rows

# Silent reading of English non-fiction, in words a minute (Brysbaert, 2019).
READING_PACE = 238
# Almost nobody reads and understands a text faster than this.
HURRIED_PACE = 400
# A person stands out below the first probability, or below the second if they also read faster than
# that.
LIMIT = 0.003
LIMIT_WHEN_HURRIED = 0.03
# Careful people of 1,000 who stand out in the tests' simulations.
FALSE_FLAGS_PER_1000 = 1
FALSE_FLAGS_PER_1000_WHEN_HURRIED = 10


@dataclass(frozen=True)
class SharedErrors:
    """Errors that one person shares with a judge.

    Attributes
    ----------
    n : int
        Items with the person's answer, the judge's and a truth.
    n_wrong, n_judge_wrong, n_both_wrong : int
        Items that the person, the judge, and both got wrong.
    expected : float or None
        Expected `n_both_wrong` of somebody with as many errors as this person, on the items that
        others get wrong.
    probability : float or None
        Probability that such a person shares this number of errors or more.
    reason : str or None
        Why the two are None: ``"too_few_items"`` without an item, ``"no_variation"`` if the
        items leave only one value possible.
    """

    n: int
    n_wrong: int
    n_judge_wrong: int
    n_both_wrong: int
    expected: float | None = None
    probability: float | None = None
    reason: Reason | None = None


def shared_errors(
    wrong: npt.ArrayLike, judge_wrong: npt.ArrayLike, *, measure: npt.ArrayLike | None = None
) -> list[SharedErrors]:
    r"""Compare every person's errors with those of a judge on the same items.

    Parameters
    ----------
    wrong : array_like of int, shape (n_items, n_annotators)
        1 wrong, 0 right, -1 without an answer or without a truth.
    judge_wrong : array_like of int, shape (n_items,)
        The same for the judge.
    measure : array_like of bool, shape (n_annotators,), optional
        People to compute; by default everybody. This choice does not change a person's figures.

    Returns
    -------
    list of SharedErrors
        One per column of `wrong`, in order.

    Raises
    ------
    ValueError
        If a value is out of range or the shapes do not fit.

    Notes
    -----
    People and models err on the same hard items, so shared errors alone are not evidence. Let
    :math:`p_i` be the share of an item's people, this one among them, who got it wrong. If
    :math:`\operatorname{logit} P(\text{wrong}_i)=\operatorname{logit}p_i+\theta`, the number of
    errors is sufficient for the person's :math:`\theta`, and given that number the distribution
    of the shared ones does not depend on how able the person is:
    :math:`P(S=s\mid T=t)\propto f_w(s)\,f_r(t-s)`, where :math:`f_w` and :math:`f_r` are the
    Poisson-binomial distributions of errors on the items that the judge got wrong and right.
    This is the conditional likelihood of the Rasch model. Items that everybody or nobody got
    wrong have no influence.

    The probability is conservative, because :math:`p_i` includes the person's own answer. It shows
    similarity, not its cause: somebody who thinks like a model looks the same as somebody who used
    one.

    References
    ----------
    .. [1] G. Rasch, "Probabilistic Models for Some Intelligence and Attainment Tests", 1960.
    .. [2] M. Brysbaert, "How many words do we read per minute? A review and meta-analysis of
       reading rate", Journal of Memory and Language 109, 2019.

    Examples
    --------
    Ten items, each missed by one of two people: the first misses what the judge misses.

    >>> wrong = [[1, 0]] * 5 + [[0, 1]] * 5
    >>> first, second = shared_errors(wrong, [1] * 5 + [0] * 5)
    >>> first.n_both_wrong, round(first.expected, 2), round(first.probability, 4)
    (5, 2.5, 0.004)
    >>> second.n_both_wrong, second.probability
    (0, 1.0)
    """
    table = np.asarray(wrong)
    judge, judged = known_rows(judge_wrong)
    if table.ndim != 2 or judge.shape != table.shape[:1]:
        raise ValueError(f"`wrong` has shape {table.shape}, `judge_wrong` {judge.shape}.")
    people = np.ones(table.shape[1], bool) if measure is None else np.asarray(measure, dtype=bool)
    if people.shape != table.shape[1:]:
        raise ValueError(f"`measure` has shape {people.shape}, not {table.shape[1:]}.")
    errors, known = known_rows(table)
    known &= judged[:, None]
    held_against = known & people
    n_people = held_against.sum(axis=1)
    n_missed = (held_against & (errors == 1)).sum(axis=1)
    # The items of each person, concatenated.
    person, item = np.nonzero(known.T)
    starts = np.searchsorted(person, np.arange(people.size + 1))
    found = []
    for column, counts in enumerate(people):
        rows = item[starts[column] : starts[column + 1]]
        own = errors[rows, column]
        # Answers of people who are not computed still count at their items.
        alone = 0 if counts else 1
        share = (n_missed[rows] + alone * own) / (n_people[rows] + alone)
        found.append(_compare(own, judge[rows], share))
    return found


def _compare(own: IntArray, judge: IntArray, share: FloatArray) -> SharedErrors:
    both = int((own & judge).sum())
    figures = SharedErrors(
        n=own.size, n_wrong=int(own.sum()), n_judge_wrong=int(judge.sum()), n_both_wrong=both
    )
    if not own.size:
        return replace(figures, reason="too_few_items")
    varies = (share > 0) & (share < 1)
    errors = int(own[varies].sum())
    on_wrong, on_right = (judge == 1) & varies, (judge == 0) & varies
    fewest = max(0, errors - int(on_right.sum()))
    most = min(errors, int(on_wrong.sum()))
    if fewest == most:
        return replace(figures, reason="no_variation")
    # Any common shift of the logits cancels; this one keeps the likely numbers far from zero.
    n = int(varies.sum())
    shift = logit((errors + 0.5) / (n + 1)) - logit(share[varies].mean())
    possible = np.arange(fewest, most + 1)
    weight = (
        _errors(share[on_wrong], shift)[possible]
        * _errors(share[on_right], shift)[errors - possible]
    )
    weight /= weight.sum()
    certain = both - int((own & judge & varies).sum())
    return replace(
        figures,
        expected=certain + float(possible @ weight),
        probability=min(1.0, float(weight[possible >= both - certain].sum())),
    )


def _errors(share: FloatArray, shift: float) -> FloatArray:
    """The Poisson-binomial distribution of the number of errors, 0 to ``share.size``.

    Items of equal share are one binomial variable. `scipy.stats.poisson_binom` gives the same, but
    takes four times as long for 30 items and seconds for 3,000.
    """
    total = np.ones(1)
    for value, count in zip(*np.unique(share, return_counts=True), strict=True):
        total = np.convolve(total, _binomial(int(count), float(expit(logit(value) + shift))))
    return total


def _binomial(count: int, p: float) -> FloatArray:
    """Probabilities of 0 to `count` successes; SciPy's own function is slow to set up."""
    k = np.arange(count + 1)
    ways = gammaln(count + 1) - gammaln(k + 1) - gammaln(count - k + 1)
    return np.asarray(np.exp(ways + xlogy(k, p) + xlog1py(count - k, -p)), dtype=np.float64)


def stands_out(
    probabilities: npt.ArrayLike, words_per_minute: float | None
) -> tuple[float | None, bool]:
    """Correct a person's smallest probability for their number, and say whether it stands out.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_judges,)
        ``SharedErrors.probability`` against each judge, those that are not None.
    words_per_minute : float or None
        The person's pace; None if it is unknown.

    Returns
    -------
    tuple of float or None, and bool
        Bonferroni's probability, None without any, and whether it is below the limit:
        `LIMIT`, or `LIMIT_WHEN_HURRIED` above `HURRIED_PACE`.

    Examples
    --------
    >>> stands_out([0.002, 0.5], None), stands_out([0.002, 0.5], 520.0), stands_out([], 520.0)
    ((0.004, False), (0.004, True), (None, False))
    """
    values = np.asarray(probabilities, dtype=float)
    if not values.size:
        return None, False
    smallest = min(1.0, float(values.min()) * values.size)
    hurried = words_per_minute is not None and words_per_minute > HURRIED_PACE
    return smallest, smallest < (LIMIT_WHEN_HURRIED if hurried else LIMIT)


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


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"`{name}` must lie in 0..1, got {value}.")
