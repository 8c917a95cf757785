"""What a debate or an adviser changes in accuracy, certainty and choices."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import BoolArray, FloatArray, IntArray
from analysis.stats.core.shared_variance import ANNOTATOR, SharedKind, Sharing


@dataclass(frozen=True, eq=False)
class ArmAnswers:
    """Answers to items that were each given in one arm.

    Attributes
    ----------
    item, arm : ndarray of int, shape (n,)
        The item, whatever its arm, from 0; and the arm.
    right : ndarray of float, shape (n,)
        1 right, 0 wrong; NaN without a right answer.
    certainty : ndarray of float, shape (n,)
        As a share of 1; NaN where none was given.
    person : ndarray of int, shape (n,), or None
        Who answered; None for a judge.
    codes : mapping of str to ndarray of int, shape (n_items,)
        What the items share: personas and questions.
    """

    item: IntArray
    arm: IntArray
    right: FloatArray
    certainty: FloatArray
    person: IntArray | None = None
    codes: Mapping[str, IntArray] = field(default_factory=dict)

    @property
    def overconfidence(self) -> FloatArray:
        """Certainty minus being right, of each answer; NaN where either is missing."""
        return self.certainty - self.right

    def take(self, rows: BoolArray) -> "ArmAnswers":
        """Some of the answers."""
        return ArmAnswers(
            self.item[rows],
            self.arm[rows],
            self.right[rows],
            self.certainty[rows],
            None if self.person is None else self.person[rows],
            self.codes,
        )


def mean_in(values: npt.ArrayLike, answers: ArmAnswers, arm: int) -> float | None:
    """The mean of known values in an arm; None without any."""
    known = np.asarray(values, dtype=np.float64)[answers.arm == arm]
    known = known[~np.isnan(known)]
    return float(known.mean()) if known.size else None


def arm_difference(
    values: npt.ArrayLike,
    answers: ArmAnswers,
    one: int,
    other: int,
    *,
    margin: float = 0.05,
    level: float = 0.95,
) -> GeneralDifference:
    r"""Mean of a value in one arm minus its mean in another, on the items that have both.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        Of each answer, such as whether it is right; NaN is left out.
    answers : ArmAnswers
    one, other : int
        The arms.
    margin, level : float
        As for `general_difference`.

    Returns
    -------
    GeneralDifference

    Notes
    -----
    The mean over items of :math:`\bar v_{i,one}-\bar v_{i,other}`. People, personas and questions
    count as samples: two items are related if one person answered both, in whichever arm. Because
    arms are drawn, this is the effect of the arm.

    Examples
    --------
    >>> item, arm = np.repeat(np.arange(40), 2), np.tile([0, 1], 40)
    >>> right = np.where(arm == 1, item % 4 > 0, item % 2 > 0).astype(float)
    >>> answers = ArmAnswers(item, arm, right, np.full(80, np.nan))
    >>> found = arm_difference(right, answers, 1, 0)
    >>> found.value, found.n
    (0.25, 40)
    """
    v = np.asarray(values, dtype=np.float64)
    used = ~np.isnan(v) & ((answers.arm == one) | (answers.arm == other))
    item, is_one = answers.item[used], answers.arm[used] == one
    n = int(answers.item.max()) + 1 if answers.item.size else 0
    means = []
    for here in (is_one, ~is_one):
        counts = np.bincount(item[here], minlength=n)
        sums = np.bincount(item[here], weights=v[used][here], minlength=n)
        means.append(np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0))
    differences = means[0] - means[1]
    known = np.flatnonzero(~np.isnan(differences))
    place = np.full(n, -1)
    place[known] = np.arange(known.size)
    rows = np.arange(known.size)
    kinds = {
        name: SharedKind.of(rows, code[known], known.size) for name, code in answers.codes.items()
    }
    if answers.person is not None:
        of_known = place[item] >= 0
        kinds[ANNOTATOR] = SharedKind.of(
            place[item][of_known], answers.person[used][of_known], known.size
        )
    sharing = Sharing.of(known.size, kinds)
    return general_difference(differences[known], sharing, margin=margin, level=level)


@dataclass(frozen=True)
class MindChanges:
    """Answers given before and after a text: how many changed, and to what.

    Attributes
    ----------
    n, changed : int
        Answers given twice, and those with another choice after it.
    wrong, corrected : int
        Wrong answers before, and those of them that are right after it.
    right, misled : int
        Right answers before, and those of them that are wrong after it.
    """

    n: int
    changed: int
    wrong: int
    corrected: int
    right: int
    misled: int


def mind_changes(before: npt.ArrayLike, after: npt.ArrayLike, truth: npt.ArrayLike) -> MindChanges:
    """Count changes of mind.

    Parameters
    ----------
    before, after, truth : array_like of int, shape (n,)
        0, 1 or 2 for response 1, response 2 or a tie; -1 where it is not known.

    Returns
    -------
    MindChanges

    Examples
    --------
    >>> mind_changes([0, 0, 1, 1, -1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0])
    MindChanges(n=4, changed=2, wrong=2, corrected=1, right=2, misled=1)
    """
    first, second, right = (np.asarray(choices) for choices in (before, after, truth))
    both = (first >= 0) & (second >= 0)
    scored = both & (right >= 0)
    was_right, was_wrong = scored & (first == right), scored & (first != right)
    return MindChanges(
        n=int(both.sum()),
        changed=int((both & (first != second)).sum()),
        wrong=int(was_wrong.sum()),
        corrected=int((was_wrong & (second == right)).sum()),
        right=int(was_right.sum()),
        misled=int((was_right & (second != right)).sum()),
    )
