"""What an advice does to answers that are given before and after it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import BoolArray, FloatArray, Proportion
from analysis.stats.core.shared_variance import Sharing

SURE = 100.0


@dataclass(frozen=True)
class Persuasion:
    """How far answers follow an advice, and how far they stay where they began.

    Attributes
    ----------
    n : int
        Answers that were given before and after the advice.
    changed : Proportion
        Of these, with another choice after it.
    persuaded : Proportion
        Of the answers against the advice, those that chose its response after it. The others stayed
        with their first answer: that is anchoring.
    dissuaded : Proportion
        Of the answers that agreed with the advice, those that left its response.
    persuaded_sure, persuaded_unsure : Proportion
        `persuaded` among first answers with a certainty of at least the threshold, and below it.
    shift : GeneralDifference
        Share that chose the advice's response after it, minus before it; a tie counts half.
    weight : GeneralDifference
        Mean weight of advice: how much of the way from the first answer to full certainty of the
        advice's response was taken. 0 stays, 1 follows; below 0 moves away, at most by 1.
    certainty : GeneralDifference
        Mean change of the certainty, as a share of 100, of answers that kept their choice.
    """

    n: int
    changed: Proportion
    persuaded: Proportion
    dissuaded: Proportion
    persuaded_sure: Proportion
    persuaded_unsure: Proportion
    shift: GeneralDifference
    weight: GeneralDifference
    certainty: GeneralDifference


def persuasion(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    certainty_before: npt.ArrayLike,
    certainty_after: npt.ArrayLike,
    favors: npt.ArrayLike,
    sharing: Sharing,
    *,
    threshold: float = 80.0,
    level: float = 0.95,
) -> Persuasion:
    r"""Compare answers before and after an advice.

    Parameters
    ----------
    before, after : array_like of int, shape (n,)
        0, 1 or 2 for response 1, response 2 or a tie; -1 where an answer is missing.
    certainty_before, certainty_after : array_like of float, shape (n,)
        1 to 100; NaN where none was given.
    favors : array_like of int, shape (n,)
        The response that the advice argues for, 0 or 1; -1 if it argues for neither.
    sharing : Sharing
        What the answers share: items, people, personas, questions.
    threshold : float, default 80
        The certainty from which a first answer is sure.
    level : float, default 0.95

    Returns
    -------
    Persuasion
        Undefined parts have a reason: ``"empty_group"`` without such answers.

    Notes
    -----
    With :math:`s=\pm c` for a certainty c, positive for the response of the advice and 0 for a tie,
    the weight of an advice is :math:`(s_{after}-s_{before})/(100-s_{before})`, the measure of
    judge-adviser studies [1]_ with the advice as full certainty, cut at -1: an answer that begins
    near full certainty and turns would outweigh all others. Answers that begin with full certainty
    of the advice's response have no weight.

    References
    ----------
    .. [1] I. Yaniv, "Receiving other people's advice: Influence and benefit", Organizational
       Behavior and Human Decision Processes 93(1), 2004.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = persuasion(
    ...     [0, 0, 1, 1] * 10, [0, 1, 1, 0] * 10, [60.0] * 40, [60.0] * 40, [1] * 40, sharing
    ... )
    >>> found.changed.value, found.persuaded.value, found.dissuaded.value, found.shift.value
    (0.5, 0.5, 0.5, 0.0)
    """
    first, second = np.asarray(before), np.asarray(after)
    sure_first, sure_second = (
        np.asarray(c, dtype=np.float64) for c in (certainty_before, certainty_after)
    )
    side = np.asarray(favors)
    both = (first >= 0) & (second >= 0)
    argued = both & (side >= 0)
    against = argued & (first != side) & (first != 2)
    with_it = argued & (first == side)

    def share(event: BoolArray, among: BoolArray) -> Proportion:
        return general_proportion(event[among], sharing.take(among), level=level)

    def mean(values: FloatArray) -> GeneralDifference:
        return general_difference(values, sharing, level=level)

    shift = _credit(second, side) - _credit(first, side)
    start, end = _signed(first, sure_first, side), _signed(second, sure_second, side)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(argued & (start < SURE), (end - start) / (SURE - start), np.nan)
        weight = np.maximum(weight, -1.0)
    kept = both & (first == second)
    return Persuasion(
        n=int(both.sum()),
        changed=share(first != second, both),
        persuaded=share(second == side, against),
        dissuaded=share(second != side, with_it),
        persuaded_sure=share(second == side, against & (sure_first >= threshold)),
        persuaded_unsure=share(second == side, against & (sure_first < threshold)),
        shift=mean(np.where(argued, shift, np.nan)),
        weight=mean(weight),
        certainty=mean(np.where(kept, (sure_second - sure_first) / SURE, np.nan)),
    )


def _credit(choice: npt.NDArray[np.integer], side: npt.NDArray[np.integer]) -> FloatArray:
    """1 for the response of the advice, half for a tie, 0 for the other."""
    credit: FloatArray = np.where(choice == 2, 0.5, (choice == side).astype(np.float64))
    return credit


def _signed(
    choice: npt.NDArray[np.integer], certainty: FloatArray, side: npt.NDArray[np.integer]
) -> FloatArray:
    """The certainty, negative for the other response, 0 for a tie; NaN where it is unknown."""
    signed: FloatArray = np.where(choice == 2, 0.0, np.where(choice == side, certainty, -certainty))
    return signed
