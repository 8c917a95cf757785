"""Alternative annotator test: whether the model could replace an annotator."""

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from ..core.multiplicity import benjamini_yekutieli
from ..core.results import BoolArray, FloatArray, IntArray, Reason, n_distinct
from ..core.votes import Votes

MIN_ITEMS = 30  # the authors' smallest number of items per annotator


@dataclass(frozen=True)
class AnnotatorTest:
    """Test of the model against one annotator.

    Attributes
    ----------
    annotator : int
        Code of the annotator.
    n_items : int
        Items with this annotator, the model and at least one other annotator.
    model_wins : float
        Share of those items on which the model agrees with the others at least as well.
    p : float
        One-sided p value of "the annotator wins by `epsilon` or more".
    p_adjusted : float
        The same after Benjamini-Yekutieli over all annotators tested.
    rejected : bool
        Whether ``p_adjusted <= q``: the model is at least nearly as good as this annotator.
    """

    annotator: int
    n_items: int
    model_wins: float
    p: float
    p_adjusted: float
    rejected: bool


@dataclass(frozen=True)
class AltTest:
    """Outcome of the alternative annotator test.

    Attributes
    ----------
    omega : float or None
        Winning rate: share of the annotators tested with `rejected`.
    rho : float or None
        Average advantage probability: mean over annotators of ``model_wins``.
    passed : bool or None
        Whether ``omega >= 0.5``.
    epsilon : float
        Advantage given to the model because people cost more.
    q : float
        Level of the false discovery rate.
    annotators : tuple of AnnotatorTest
        Annotators tested, in the order of their codes.
    n_skipped : int
        Annotators with usable items, but fewer than `min_items`.
    reason : str or None
        ``"too_few_items"`` if every annotator was skipped, ``"no_pairs"`` if no item has
        the model and two people.
    """

    omega: float | None
    rho: float | None
    passed: bool | None
    epsilon: float
    q: float
    annotators: tuple[AnnotatorTest, ...]
    n_skipped: int
    reason: Reason | None = None


def alt_test(
    votes: Votes,
    model: npt.ArrayLike,
    *,
    epsilon: float,
    q: float = 0.05,
    min_items: int = MIN_ITEMS,
) -> AltTest:
    r"""Alternative annotator test on choices.

    Tests for each annotator whether the model agrees nearly as well with the *other* annotators of
    the same items as the annotator does.

    Parameters
    ----------
    votes : Votes
        Choices of people, at most one per annotator and item. Items with one vote are not used.
    model : array_like of int, shape (n_items,)
        The model's choice, -1 missing. Items without it are not used.
    epsilon : float
        Advantage of the model: 0.1 over crowd workers, 0.15 over skilled annotators, 0.2 over
        experts.
    q : float, default 0.05
        False discovery rate over the annotators.
    min_items : int, default 30
        Annotators with fewer usable items are skipped and counted.

    Returns
    -------
    AltTest

    Raises
    ------
    ValueError
        If `model` does not fit `votes`, an annotator has two choices on an item, or a number
        is out of range.

    Notes
    -----
    For annotator j and item i, :math:`S(x)` is the share of the other annotators who chose
    :math:`x`; :math:`W^f=[S_f\ge S_j]`, :math:`W^h=[S_j\ge S_f]`,
    :math:`d_i=W^h-W^f`. One-sided t test of :math:`H_0: E[d]\ge\epsilon`; without spread p is 0
    if :math:`\bar d<\epsilon`, else 1. Thirty annotators with exactly 30 items each are at the
    minimum, and Benjamini-Yekutieli over 30 tests costs a factor of 3.99: such a study rarely
    passes at any quality of the model; see
    :func:`analysis.stats.comparison.replacement.pooled_replacement_test`.

    References
    ----------
    .. [1] Calderon, Reichart and Dror, "The Alternative Annotator Test for LLM-as-a-Judge",
       ACL 2025.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 1], [1, 1, 0]] * 40)
    >>> result = alt_test(votes, [0, 1] * 40, epsilon=0.1)
    >>> round(result.omega, 3), result.rho, result.passed
    (1.0, 1.0, True)
    """
    model_choice = model_choices(votes, model)
    own, theirs, usable = _alignment(votes, model_choice)
    return _test(votes, own, theirs, usable, epsilon=epsilon, q=q, min_items=min_items)


def alt_test_certainty(
    votes: Votes,
    model_certainty: npt.ArrayLike,
    *,
    epsilon: float,
    q: float = 0.05,
    min_items: int = MIN_ITEMS,
) -> AltTest:
    r"""Alternative annotator test on certainties.

    Parameters
    ----------
    votes : Votes
        Answers of people; rows without a certainty are not used.
    model_certainty : array_like of float, shape (n_items,)
        The model's certainty, 1 to 100; NaN missing.
    epsilon, q, min_items
        As in :func:`alt_test`.

    Returns
    -------
    AltTest

    Raises
    ------
    ValueError
        As :func:`alt_test`.

    Notes
    -----
    As :func:`alt_test` with :math:`S(x)=-\sqrt{\frac1{m-1}\sum_{k\ne j}(x-c_k)^2}`.

    References
    ----------
    .. [1] Calderon, Reichart and Dror, ACL 2025, section on continuous annotations.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 0]] * 40, [[60, 70, 80]] * 40)
    >>> alt_test_certainty(votes, [70] * 40, epsilon=0.1).omega
    1.0
    """
    certainty = np.asarray(model_certainty, dtype=np.float64)
    if certainty.shape != (votes.n_items,):
        raise ValueError(
            f"`model_certainty` must have shape ({votes.n_items},), got {certainty.shape}."
        )
    require_single_votes(votes)
    votes = votes.take(~np.isnan(votes.certainty))
    n = np.bincount(votes.item, minlength=votes.n_items)
    total = np.bincount(votes.item, weights=votes.certainty, minlength=votes.n_items)
    squares = np.bincount(votes.item, weights=votes.certainty**2, minlength=votes.n_items)
    usable = (n[votes.item] >= 2) & ~np.isnan(certainty)[votes.item]

    def squared_error(x: FloatArray) -> FloatArray:
        """Sum over all people on the row's item of (x - certainty)^2; own term included."""
        i = votes.item
        return np.asarray(n[i] * x**2 - 2 * x * total[i] + squares[i], dtype=np.float64)

    model_row = np.nan_to_num(certainty)[votes.item]
    own = -squared_error(votes.certainty)
    theirs = -(squared_error(model_row) - (model_row - votes.certainty) ** 2)
    # Mean squared errors that differ only by rounding are equal.
    close = np.isclose(own, theirs, rtol=1e-9, atol=1e-6)
    own = np.where(close, theirs, own)
    return _test(votes, own, theirs, usable, epsilon=epsilon, q=q, min_items=min_items)


def human_advantage(votes: Votes, model: npt.ArrayLike) -> tuple[FloatArray, BoolArray]:
    """Outcome of annotator versus model for every choice, as in the alternative test.

    Parameters
    ----------
    votes : Votes
        Choices of people, at most one per annotator and item.
    model : array_like of int, shape (n_items,)
        The model's choice, -1 missing.

    Returns
    -------
    advantage : ndarray of float, shape (votes.n,)
        1 where the annotator agrees better with the others, -1 where the model does, else 0.
    usable : ndarray of bool, shape (votes.n,)
        Rows with the model and at least one other annotator.

    Examples
    --------
    >>> advantage, usable = human_advantage(Votes.from_matrix([[0, 0, 1], [1, -1, -1]]), [1, 1])
    >>> advantage[usable].tolist(), usable.tolist()
    ([0.0, 0.0, 0.0], [True, True, True, False])
    """
    own, theirs, usable = _alignment(votes, model_choices(votes, model))
    return np.sign(own - theirs), usable


def model_choices(votes: Votes, model: npt.ArrayLike) -> IntArray:
    """Check that `model`, shape (n_items,), holds options of `votes` or -1, and return it."""
    choice = np.asarray(model, dtype=np.int64)
    if choice.shape != (votes.n_items,):
        raise ValueError(f"`model` must have shape ({votes.n_items},), got {choice.shape}.")
    if choice.size and not (choice.min() >= -1 and choice.max() < votes.n_options):
        raise ValueError(f"`model` must lie in -1..{votes.n_options - 1}.")
    return choice


def require_single_votes(votes: Votes) -> None:
    """Raise ValueError if an annotator has more than one choice on an item."""
    cells = votes.item * max(votes.n_annotators, 1) + votes.annotator
    if n_distinct(cells) != cells.size:
        raise ValueError("`votes` holds several choices of one annotator on one item.")


def _alignment(votes: Votes, model: IntArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Numbers of others who agree with the annotator and with the model, and usable rows.

    Numbers rather than shares: on one row both have the same denominator.
    """
    require_single_votes(votes)
    counts, item = votes.counts(), votes.item
    usable = (counts.sum(axis=1)[item] >= 2) & (model[item] >= 0)
    model_row = np.maximum(model[item], 0)
    own = (counts[item, votes.choice] - 1).astype(np.float64)
    theirs = (counts[item, model_row] - (votes.choice == model_row)).astype(np.float64)
    return own, theirs, usable


def _test(
    votes: Votes,
    own: FloatArray,
    theirs: FloatArray,
    usable: BoolArray,
    *,
    epsilon: float,
    q: float,
    min_items: int,
) -> AltTest:
    if not 0 <= epsilon < 1:
        raise ValueError(f"`epsilon` must lie in [0, 1), got {epsilon}.")
    if not 0 < q < 1:
        raise ValueError(f"`q` must lie in (0, 1), got {q}.")
    if min_items < 2:
        raise ValueError(f"`min_items` must be at least 2, got {min_items}.")

    annotator, size = votes.annotator[usable], votes.n_annotators
    advantage = np.sign(own - theirs)[usable]
    n = np.bincount(annotator, minlength=size)
    total = np.bincount(annotator, weights=advantage, minlength=size)
    squares = np.bincount(annotator, weights=advantage**2, minlength=size)
    model_wins = np.bincount(annotator, weights=advantage <= 0, minlength=size)

    tested = np.flatnonzero(n >= min_items)
    n_skipped = int(np.sum((n > 0) & (n < min_items)))
    if tested.size == 0:
        reason: Reason = "too_few_items" if n_skipped else "no_pairs"
        return AltTest(None, None, None, epsilon, q, (), n_skipped, reason)

    # As Python numbers, which are read much faster one by one.
    items, sums, second = (column[tested].tolist() for column in (n, total, squares))
    p_values = [_one_sided_p(*own, epsilon) for own in zip(items, sums, second, strict=True)]
    adjusted = [p for p in benjamini_yekutieli(p_values) if p is not None]
    wins = (model_wins[tested] / n[tested]).tolist()
    rejected = [p_adjusted <= q for p_adjusted in adjusted]
    columns = (tested.tolist(), items, wins, p_values, adjusted, rejected)
    annotators = tuple(itertools.starmap(AnnotatorTest, zip(*columns, strict=True)))
    omega = sum(test.rejected for test in annotators) / len(annotators)
    rho = math.fsum(test.model_wins for test in annotators) / len(annotators)
    return AltTest(omega, rho, omega >= 0.5, epsilon, q, annotators, n_skipped)


@lru_cache(maxsize=4096)  # many annotators have the same sums
def _one_sided_p(n: int, total: float, squares: float, epsilon: float) -> float:
    """P value of a mean of `epsilon` or more; the values are -1, 0 and 1, so sums are exact."""
    mean = total / n
    variance = (squares - total * total / n) / (n - 1)
    if variance <= 1e-15:
        return 0.0 if mean < epsilon else 1.0
    return float(special.stdtr(n - 1, (mean - epsilon) / math.sqrt(variance / n)))


@dataclass(frozen=True)
class ReferenceJudge:
    """A trivial judge's agreement with people, on both scales."""

    name: str
    raw: float
    balanced: float


def reference_judges(votes: Votes) -> tuple[ReferenceJudge, ...]:
    """Agreement of trivial judges with people: the minimum that a judge must beat.

    Parameters
    ----------
    votes : Votes
        Choices of people; items with one choice are not used.

    Returns
    -------
    tuple of ReferenceJudge
        Always the most common label, a coin (or die), and another person at random; empty if no
        item has two choices. The coin has its expected agreement.

    Examples
    --------
    >>> found = reference_judges(Votes.from_matrix([[0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]]))
    >>> [(judge.name, round(judge.raw, 2), round(judge.balanced, 2)) for judge in found]
    [('commonest label', 0.67, 0.5), ('coin', 0.5, 0.5), ('another person', 0.5, 0.44)]
    """
    counts = votes.counts()
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        return ()
    k = counts.sum(axis=1, keepdims=True)
    mean, alike = (counts / k).mean(axis=0), (counts * (counts - 1) / (k * (k - 1))).mean(axis=0)
    occurs = mean > 0
    labels = max(2, int(occurs.sum()))
    return (
        ReferenceJudge("commonest label", float(mean.max()), 1 / labels),
        ReferenceJudge("coin", 1 / labels, 1 / labels),
        ReferenceJudge(
            "another person",
            float(alike.sum()),
            float((alike[occurs] / mean[occurs]).sum() / labels),
        ),
    )
