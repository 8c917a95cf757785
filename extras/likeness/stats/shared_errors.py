"""Errors that a person shares with a judge."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln, logit, xlog1py, xlogy

from analysis.stats.core.results import FloatArray, IntArray, Reason, known_rows

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
