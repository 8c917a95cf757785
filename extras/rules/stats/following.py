"""How often people and a judge choose the response that a rule favours."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import interval_of, t_tail, why_not
from analysis.stats.core.results import (
    BoolArray,
    FloatArray,
    IntArray,
    Interval,
    Reason,
    n_distinct,
    t_quantile,
)
from analysis.stats.core.shared_variance import Sharing, effective_number

# Of the level of all tests, for a rule that a judge proposed: it is tested on half of the items. A
# measured feature gets 1.
PROPOSED_WEIGHT = 2.0
# With fewer items, or fewer answers that differ from the judge's, a rule has no test.
FEWEST_ITEMS, FEWEST_DIFFERENT = 20, 10
FEWEST_CLUSTERS = 5.0  # effective number of people, of personas or of questions
TIE = 2


@dataclass(frozen=True)
class RuleFollowing:
    """People and a judge on the items for which a rule favours a response.

    Attributes
    ----------
    support : int
        Items for which the rule favours a response and both sides have an answer.
    people, judge : float or None
        Share of people's answers to these items, and of the judge's verdicts, for the favoured
        response. A verdict counts once for each answer.
    difference : float or None
        People minus judge.
    interval : Interval or None
        For items, people, personas and questions in general.
    p : float or None
        Two-sided p value of no difference.
    differ, with_people : int
        Items whose majority of people chose another response than the judge, and those of them
        where people chose the favoured one.
    reason : str or None
        Why there is no test: ``"empty_group"``, ``"too_few_items"`` (below 20), ``"no_variation"``
        (fewer than 10 answers differ from the judge's), ``"too_few_annotators"`` or
        ``"too_few_clusters"``.
    """

    support: int
    people: float | None
    judge: float | None
    difference: float | None
    interval: Interval | None
    p: float | None
    differ: int
    with_people: int
    reason: Reason | None


def follow_rules(
    favoured: npt.ArrayLike,
    item: npt.ArrayLike,
    choice: npt.ArrayLike,
    judge: npt.ArrayLike,
    sharing: Sharing,
    *,
    level: float = 0.95,
) -> list[RuleFollowing]:
    r"""Compare how often people and a judge follow each of several rules.

    Parameters
    ----------
    favoured : array_like of int, shape (n_rules, n_items)
        The response that a rule favours, 0 or 1; -1 for neither.
    item, choice : array_like of int, shape (n_answers,)
        People's answers: the item, and 0, 1 or, for a tie, 2.
    judge : array_like of int, shape (n_items,)
        The judge's verdicts: 0, 1, 2 for a tie, -1 without one.
    sharing : Sharing
        What the answers share: items, people, personas and questions.
    level : float, default 0.95

    Returns
    -------
    list of RuleFollowing

    Notes
    -----
    With :math:`y` and :math:`j` 1 if the answer, or the verdict on its item, is the favoured
    response, 0 if it is the other and one half for a tie, the difference is the mean D of
    :math:`y-j` over the m answers to the rule's items. Its variance is that of the mean of
    :math:`(n/m)(y-j-D)`, 0 for all other answers, over all n answers (`Sharing.spread`), with
    the degrees of freedom given there, at most one less than the effective number of people, of
    personas and of questions behind the rule's items. Answers instead of items are the rows,
    because they show much better how much one person's answers have in common.

    Examples
    --------
    >>> item, people = np.repeat(np.arange(40), 3), [0, 0, 1, 1, 1, 1] * 20
    >>> sharing = Sharing.of_items(120, {"item": item, "annotator": np.arange(120) * 7 % 24})
    >>> (found,) = follow_rules([[0, 1, 1, -1] * 10], item, people, [0, 0, 1, 1] * 10, sharing)
    >>> found.support, round(found.people, 3), round(found.judge, 3)
    (30, 0.667, 0.667)
    >>> found.differ, found.with_people, found.difference
    (20, 10, 0.0)
    """
    marks, verdict = np.atleast_2d(np.asarray(favoured)), np.asarray(judge, dtype=np.int64)
    of_item, choices = np.asarray(item, dtype=np.int64), np.asarray(choice, dtype=np.int64)
    if marks.shape[1:] != verdict.shape or not of_item.shape == choices.shape == (sharing.n,):
        raise ValueError("`favoured` and `judge` are about items, `item` and `choice` of answers.")
    decided = (verdict >= 0)[of_item] & (choices >= 0)
    sides = [_Sides.of(mark, of_item, choices, verdict, decided) for mark in marks]
    spread = sharing.spread(np.array([side.scores for side in sides]).reshape(-1, sharing.n))
    rows = zip(sides, spread.variance, spread.degrees_of_freedom, strict=True)
    return [_tested(side, float(v), float(df), sharing, level) for side, v, df in rows]


@dataclass(frozen=True, eq=False)
class _Sides:
    """Both sides' choices for one rule: 1 for the favoured response, of the answers in `rows`."""

    rows: BoolArray
    people: FloatArray
    judge: FloatArray
    support: int
    differ: int
    with_people: int
    scores: FloatArray  # linearised, of all answers

    @classmethod
    def of(
        cls,
        mark: IntArray,
        item: IntArray,
        choices: IntArray,
        verdict: IntArray,
        decided: BoolArray,
    ) -> "_Sides":
        rows = decided & (mark >= 0)[item]
        of_item = item[rows]
        people = _follows(choices[rows], mark[of_item])
        judge = _follows(verdict[of_item], mark[of_item])
        lean = np.bincount(of_item, people - 0.5, minlength=mark.size)
        sign = np.where(verdict == TIE, 0, np.where(verdict == mark, 1, -1))
        differ = np.sign(lean) * sign < 0
        scores = np.zeros(item.size)
        if of_item.size:
            gap = people - judge
            scores[rows] = (gap - gap.mean()) * item.size / of_item.size
        return cls(
            rows,
            people,
            judge,
            n_distinct(of_item),
            int(differ.sum()),
            int((differ & (lean > 0)).sum()),
            scores,
        )


def _follows(choice: IntArray, favoured: IntArray) -> FloatArray:
    return np.where(choice == TIE, 0.5, (choice == favoured).astype(np.float64))


def _tested(
    sides: _Sides, variance: float, df: float, sharing: Sharing, level: float
) -> RuleFollowing:
    gap = sides.people - sides.judge
    value = float(gap.mean()) if gap.size else None
    clusters = [
        effective_number(np.bincount(kind.cluster[sides.rows[kind.row]])) or 0.0
        for name, kind in sharing.kinds.items()
        if name in sharing.used
    ]
    reason: Reason | None = why_not(sharing)
    if not gap.size:
        reason = "empty_group"
    elif sides.support < FEWEST_ITEMS:
        reason = "too_few_items"
    elif np.count_nonzero(gap) < FEWEST_DIFFERENT or variance <= 0:
        reason = "no_variation"
    elif reason is None and min(clusters, default=gap.size) < FEWEST_CLUSTERS:
        reason = "too_few_clusters"
    interval, p = None, None
    if reason is None and value is not None:
        se, df = variance**0.5, min(df, *(cluster - 1 for cluster in clusters), gap.size - 1)
        half = t_quantile(df, (1 + level) / 2) * se
        ends = max(value - half, -1.0), min(value + half, 1.0)
        interval = interval_of(*ends, level, "general t", sharing)
        p = min(2 * t_tail(df, abs(value) / se), 1.0)
    return RuleFollowing(
        support=sides.support,
        people=float(sides.people.mean()) if gap.size else None,
        judge=float(sides.judge.mean()) if gap.size else None,
        difference=value,
        interval=interval,
        p=p,
        differ=sides.differ,
        with_people=sides.with_people,
        reason=reason,
    )
