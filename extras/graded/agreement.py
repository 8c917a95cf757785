"""Agreement of grades by their level of measurement, and what goes together with them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import IntraclassCorrelation, intraclass_correlation, weighted_kappa
from analysis.stats.certainty.human_llm import general_spearman
from analysis.stats.core.results import (
    BoolArray,
    Estimate,
    EstimateAndTest,
    FloatArray,
    IntArray,
)
from analysis.stats.core.shared_variance import Sharing

TIE = 2


def signed(choice: npt.ArrayLike, strength: npt.ArrayLike) -> FloatArray:
    """Preferences from -3 (strongly response 2) to 3 (strongly response 1); 0 for a tie.

    >>> signed([0, 1, 2, -1, 0], [3, 1, np.nan, 2, np.nan]).tolist()
    [3.0, -1.0, 0.0, nan, nan]
    """
    sides, steps = np.asarray(choice), np.asarray(strength, dtype=np.float64)
    signs = np.where(sides == 0, steps, np.where(sides == 1, -steps, np.nan))
    return np.where(sides == TIE, 0.0, signs)


def tallies(target: IntArray, values: FloatArray, n: int, scale: FloatArray) -> IntArray:
    """How often each value of an ascending `scale` was given to each of `n` targets."""
    known = ~np.isnan(values)
    table = np.zeros((n, scale.size), dtype=np.int64)
    np.add.at(table, (target[known], np.searchsorted(scale, values[known])), 1)
    return table


def means(target: IntArray, values: FloatArray, n: int) -> FloatArray:
    """The mean value of each of `n` targets; NaN without one."""
    known = ~np.isnan(values)
    total = np.bincount(target[known], values[known], minlength=n)
    count = np.bincount(target[known], minlength=n)
    return np.divide(total, count, out=np.full(n, np.nan), where=count > 0)


def choice_of_others(item: IntArray, choice: IntArray, counts: IntArray) -> IntArray:
    """What most other people chose at the item of each answer; -1 if none or several are most.

    >>> counts = np.array([[2, 1], [1, 0]])
    >>> choice_of_others(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0]), counts).tolist()
    [-1, -1, 0, -1]
    """
    rest = counts[item].copy()
    rest[np.arange(item.size), choice] -= 1
    top = rest.max(axis=1, initial=0)
    is_clear: BoolArray = (top > 0) & ((rest == top[:, None]).sum(axis=1) == 1)
    return np.where(is_clear, rest.argmax(axis=1), -1)


def graded_kappa(one: FloatArray, other: FloatArray, scale: FloatArray) -> Estimate:
    """Cohen's kappa with quadratic weights of two means per target, rounded to the scale."""

    def code(means: FloatArray) -> IntArray:
        steps = np.rint(np.nan_to_num(means)) - scale[0]
        return np.where(np.isnan(means), -1, steps).astype(np.int64)

    apart = np.subtract.outer(scale, scale) / (scale[-1] - scale[0])
    return weighted_kappa(code(one), code(other), 1 - apart**2)


def within_people(
    first: FloatArray, second: FloatArray, person: IntArray, sharing: Sharing
) -> EstimateAndTest:
    """Rank correlation over answers of what is above or below each person's own mean.

    People use scales differently; between people, such differences would be taken for a relation.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    n = int(person.max(initial=-1)) + 1

    def apart(values: FloatArray) -> FloatArray:
        known: FloatArray = np.where(both, values, np.nan)
        return known - means(person, known, n)[person] if n else known

    return general_spearman(apart(first), apart(second), sharing)


@dataclass(frozen=True)
class RatedRows:
    """Scores of people: the target, the person and the score of each."""

    target: IntArray
    person: IntArray
    score: FloatArray

    def intraclass(self) -> IntraclassCorrelation:
        """ICC of the targets that all people scored; only these are held as a matrix."""
        known = ~np.isnan(self.score)
        target, score = self.target[known], self.score[known]
        people, person = np.unique(self.person[known], return_inverse=True)
        count = np.bincount(target, minlength=1)
        complete = np.flatnonzero(count == people.size) if people.size else np.array([], dtype=int)
        rows = np.isin(target, complete)
        table = np.full((complete.size, people.size), np.nan)
        table[np.searchsorted(complete, target[rows]), person[rows]] = score[rows]
        return intraclass_correlation(table)
