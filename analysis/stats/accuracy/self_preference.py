"""Whether a judge prefers its own responses: more than the gold answers do, and in its errors."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.accuracy.general_accuracy import general_contrast, general_proportion
from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.comparison.paired import count_pairs, tango_interval
from analysis.stats.core.results import Estimate, Proportion
from analysis.stats.core.shared_variance import Sharing


@dataclass(frozen=True)
class OwnPreference:
    """A judge's choices on pairs with exactly one response of its own, next to the gold answers.

    Attributes
    ----------
    n : int
        Pairs that the judge decided and that have a gold answer, both without ties.
    chosen, gold : Proportion
        Share of them in which the judge, and the gold answer, chose the judge's own response.
    dbg : GeneralDifference
        ``chosen - gold``, with the clusters that pairs share as samples.
    missed, taken : Proportion
        Share of wrong choices where the gold answer is the judge's own response (missed), and where
        it is the other one (the judge took its own).
    bias : GeneralDifference
        ``taken - missed``: above 0 if errors favour the judge's own responses.
    """

    n: int
    chosen: Proportion
    gold: Proportion
    dbg: GeneralDifference
    missed: Proportion
    taken: Proportion
    bias: GeneralDifference


def self_preference(
    judge_chose_own: npt.ArrayLike, truth_is_own: npt.ArrayLike, *, level: float = 0.95
) -> Estimate:
    """Difference between how often a judge chooses its own response and how often it is right.

    Parameters
    ----------
    judge_chose_own, truth_is_own : array_like of int, shape (n_pairs,)
        On pairs with exactly one response of the judge's own: 1 own, 0 the other, -1 missing.
    level : float, default 0.95
        Nominal coverage of the interval.

    Returns
    -------
    Estimate
        Difference of the two shares with Tango's interval, which takes pairs as independent;
        unit: share, [-1, 1].

    Raises
    ------
    ValueError
        If the shapes differ or a value is not -1, 0 or 1.

    Examples
    --------
    >>> round(self_preference([1, 1, 1, 0, 1], [1, 0, 1, 0, 0]).value, 6)
    0.4
    """
    pairs = count_pairs(judge_chose_own, truth_is_own)
    if pairs.n == 0:
        return Estimate(None, "empty_group")
    return Estimate(pairs.difference, interval=tango_interval(pairs, level))


def own_preference(
    judge_chose_own: npt.ArrayLike,
    gold_is_own: npt.ArrayLike,
    sharing: Sharing,
    *,
    level: float = 0.95,
) -> OwnPreference:
    r"""Self-preference of a judge, in all choices and in its errors.

    Parameters
    ----------
    judge_chose_own, gold_is_own : array_like of int, shape (n_pairs,)
        As for `self_preference`.
    sharing : Sharing
        What the pairs share, such as personas and questions.
    level : float, default 0.95

    Returns
    -------
    OwnPreference

    Raises
    ------
    ValueError
        If the shapes differ or a value is not -1, 0 or 1.

    Notes
    -----
    With gold share s and error rates e (of pairs whose gold answer is the judge's own response) and
    f (of the others), DBG is :math:`(1-s)f-se`. A judge whose errors favour nothing (e = f) has
    :math:`(1-2s)e`, which is not 0 unless s is 1/2: its errors pull the share of its own responses
    towards one half. `OwnPreference.bias`, f - e, is 0 for such a judge.

    Examples
    --------
    >>> sharing = Sharing.of_items(5, {"persona": np.arange(5)})
    >>> found = own_preference([1, 1, 1, 0, 1], [1, 0, 1, 0, 0], sharing)
    >>> round(found.dbg.value, 6), found.missed.value, round(found.taken.value, 3)
    (0.4, 0.0, 0.667)
    """
    count_pairs(judge_chose_own, gold_is_own)  # refuses what is not 1, 0 or -1
    judge, gold = (np.asarray(side, dtype=np.int64) for side in (judge_chose_own, gold_is_own))
    rows = np.flatnonzero((judge >= 0) & (gold >= 0))
    judge, gold, within = judge[rows], gold[rows], sharing.take(rows)
    wrong, own, other = judge != gold, gold == 1, gold == 0
    return OwnPreference(
        n=int(rows.size),
        chosen=general_proportion(judge == 1, within, level=level),
        gold=general_proportion(own, within, level=level),
        dbg=general_difference((judge - gold).astype(np.float64), within, level=level),
        missed=general_proportion(wrong[own], within.take(own), level=level),
        taken=general_proportion(wrong[other], within.take(other), level=level),
        bias=general_contrast(wrong, other, wrong, own, within, level=level),
    )
