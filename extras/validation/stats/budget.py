"""Where the width of an interval comes from, and the cheapest way to make it narrower."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import why_not
from analysis.stats.core.results import Reason, t_quantile
from analysis.stats.core.shared_variance import Sharing

ITEM = "item"
FACTORS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30)  # of items
ANSWERS = (1, 2, 3, 5, 7, 9, 15)
READINGS = (1, 2, 4, 8)


@dataclass(frozen=True)
class StudySize:
    """Items, people's answers to each, and readings of each by the judge."""

    items: int
    answers: float
    readings: float


@dataclass(frozen=True)
class ErrorBudget:
    """Variance components of the judge's accuracy minus one person's.

    Attributes
    ----------
    value : float or None
        The difference.
    half_width : float or None
        Of its 95 % interval.
    shares : mapping of str to float
        Share of the variance of the difference: of kinds of clusters, and ``"answer"``, what is
        left for single answers.
    reading : float or None
        Variance of a reading of the same item; None without items that were read twice.
    size : StudySize
    reason : str or None
        Why there is nothing.
    """

    value: float | None
    half_width: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    reading: float | None = None
    size: StudySize = StudySize(0, 0.0, 0.0)
    reason: Reason | None = None
    components: Mapping[str, float] = field(default_factory=dict)
    row: float = 0.0
    together: Mapping[str, float] = field(default_factory=dict)
    df: float = 1.0

    def width_of(self, size: StudySize) -> float:
        """Half the width of the interval that a study of this size is expected to have.

        People keep their number of items, and personas and questions theirs.
        """
        grown = size.answers / self.size.answers
        n = size.items * size.answers
        noise = (self.reading or 0.0) * (1 / size.readings - 1 / self.size.readings)
        total = max(self.row + noise, 0.0)
        for name, component in self.components.items():
            others = self.together[name]
            if name == ITEM:
                component, others = max(component + noise, 0.0), size.answers - 1
            elif name != "annotator":
                others = (others + 1) * grown - 1
            total += component * max(others, 0.0)
        df = self.df * size.items / self.size.items
        return float(t_quantile(df, 0.975) * np.sqrt(total / n))


def error_budget(
    correct: npt.ArrayLike,
    item: npt.ArrayLike,
    right: npt.ArrayLike,
    read: npt.ArrayLike,
    sharing: Sharing,
) -> ErrorBudget:
    r"""Split the variance of a judge's accuracy minus one person's into its sources.

    Parameters
    ----------
    correct, item : array_like of int, shape (n_answers,)
        Single answers of people: 1 right, 0 wrong, -1 without a truth; their items.
    right, read : array_like of int, shape (n_items,)
        The judge's readings that are right, and all of them.
    sharing : Sharing
        What answers share: item, annotator, persona, question.

    Returns
    -------
    ErrorBudget

    Notes
    -----
    Each answer has the difference between the judge's share of right readings of its item and 0 or
    1. The components are those of `Sharing.components`, which also make intervals of differences;
    those below 0 are 0. For another size, each is weighted by the number of pairs of answers that
    share such a cluster. The variance between readings of an item moves with their number.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> item, annotator = np.repeat(np.arange(200), 3), rng.permutation(600) % 20
    >>> codes = {"item": item, "annotator": annotator}
    >>> found = error_budget(
    ...     rng.random(600) < 0.6, item, rng.binomial(2, 0.7, 200), [2] * 200,
    ...     Sharing.of_items(600, codes),
    ... )
    >>> round(found.half_width, 3), round(found.width_of(StudySize(800, 3, 2)), 3)
    (0.067, 0.033)
    """
    y, rows = np.asarray(correct, dtype=np.float64), np.asarray(item)
    hits, n_read = (np.asarray(each, dtype=np.float64) for each in (right, read))
    known = np.flatnonzero((y >= 0) & (n_read[rows] > 0))
    if known.size == 0:
        return ErrorBudget(None, reason="empty_group")
    within = sharing if known.size == sharing.n else sharing.take(known)
    rows = rows[known]
    items = np.unique(rows)
    share = hits / np.maximum(n_read, 1)
    gap = share[rows] - y[known]
    readings = float(1 / np.mean(1 / n_read[items]))
    size = StudySize(items.size, rows.size / items.size, readings)
    value = float(gap.mean())
    if reason := why_not(within):
        return ErrorBudget(value, size=size, reason=reason)
    row, *shared = within.components(gap)[0]
    together = {
        name: float((within.kinds[name].sizes ** 2).sum()) / rows.size - 1 for name in within.used
    }
    components = dict(zip(within.used, map(float, shared), strict=True))
    spread = within.spread(gap)
    df, variance = float(spread.degrees_of_freedom[0]), float(spread.variance[0])
    if variance <= 0:
        return ErrorBudget(value, size=size, reason="no_variation")
    parts = {name: components[name] * together[name] / rows.size for name in within.used}
    parts["answer"] = max(variance - sum(parts.values()), 0.0)
    twice = items[n_read[items] > 1]
    reading = None
    if twice.size:
        p, m = share[twice], n_read[twice]
        reading = float((p * (1 - p) * m / (m - 1)).mean())
    return ErrorBudget(
        value,
        float(t_quantile(df, 0.975) * np.sqrt(variance)),
        {name: part / variance for name, part in parts.items()},
        reading,
        size,
        None,
        components,
        float(row),
        together,
        df,
    )


@dataclass(frozen=True)
class Offer:
    """A study that reaches the wanted width."""

    size: StudySize
    half_width: float
    price: float


def cheapest(
    budget: ErrorBudget, wanted: float, *, answer: float, judgment: float, alone: str = ""
) -> Offer | None:
    """The cheapest study with an interval this narrow; None if none of the tried ones is.

    Parameters
    ----------
    budget : ErrorBudget
    wanted : float
        Half the width of the interval.
    answer, judgment : float
        Prices of one answer of a person and of one reading of the judge.
    alone : str
        ``"items"``, ``"answers"`` or ``"readings"``: change only this.
    """
    now = budget.size
    items = FACTORS if alone in ("", "items") else (1,)
    answers = {now.answers, *ANSWERS} if alone in ("", "answers") else {now.answers}
    readings = {now.readings}
    if budget.reading is not None and alone in ("", "readings"):
        readings |= {*READINGS, 50}
    best: Offer | None = None
    for factor, k, m in product(items, sorted(answers), sorted(readings)):
        size = StudySize(round(now.items * factor), k, m)
        width = budget.width_of(size)
        price = size.items * (k * answer + m * judgment)
        if width <= wanted and (best is None or price < best.price):
            best = Offer(size, width, price)
    return best
