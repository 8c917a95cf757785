"""Where the width of an interval comes from, and the cheapest way to make it narrower."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import why_not
from analysis.stats.core.results import FloatArray, Reason, t_quantile
from analysis.stats.core.shared_variance import Sharing

ITEM = "item"
FACTORS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30)  # of items
ANSWERS = (1, 2, 3, 5, 7, 9, 15)
READINGS = (1, 2, 4, 8)
WORDINGS = (3, 4, 6, 10)
FEWEST_WORDINGS = 3  # whose accuracies show how far accuracies differ between wordings


@dataclass(frozen=True)
class StudySize:
    """Items, people's answers to each, and the judge's readings of each in each wording."""

    items: int
    answers: float
    readings: float
    wordings: int = 1


@dataclass(frozen=True)
class JudgeNoise:
    """What makes a judge's readings of the same item differ.

    Attributes
    ----------
    reading : float or None
        Variance of a reading of the same item in the same wording and order; None without items
        that were read twice in one.
    order : float or None
        Variance between the two orders of an item; None without items that were read in both, or
        without `reading`.
    wording : float or None
        Variance of the accuracy between wordings; None with fewer than three.
    interaction : float
        Mean square of items × wordings: what wordings change at single items, and the noise of
        their readings. 0 with one wording.
    between : float
        Mean square between wordings, per item; 0 with one.
    orders : int
        In how many orders items were read.
    """

    reading: float | None = None
    order: float | None = None
    wording: float | None = None
    interaction: float = 0.0
    between: float = 0.0
    orders: int = 1

    @classmethod
    def of(cls, hits: FloatArray, read: FloatArray) -> "JudgeNoise":
        """From right readings and all readings, shape (items, wordings, orders)."""
        share = np.divide(hits, read, out=np.full(hits.shape, np.nan), where=read > 0)
        again = read > 1
        reading = order = wording = None
        interaction = between = 0.0
        if again.any():
            p, m = share[again], read[again]
            reading = float((p * (1 - p) * m / (m - 1)).mean())
        both = (read > 0).all(axis=2) & (read.shape[2] > 1)
        if both.any() and reading is not None:
            gap = share[both][:, 0] - share[both][:, 1]
            noise = reading * (1 / read[both]).sum(axis=1)
            order = max(float((gap**2 - noise).mean()) / 2, 0.0)
        n, wordings = hits.shape[:2]
        if wordings > 1:
            table = hits.sum(axis=2) / read.sum(axis=2)
            rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
            interaction = float((rest**2).sum() / ((n - 1) * (wordings - 1)))
            between = float(n * table.mean(axis=0).var(ddof=1))
        if wordings >= FEWEST_WORDINGS:
            wording = max(between - interaction, 0.0) / n
        return cls(reading, order, wording, interaction, between, 1 + int(both.mean() > 0.5))

    def of_mean(self, readings: float, wordings: int, now: StudySize) -> float:
        """Variance of the mean of an item's readings, apart from what `now` already has."""
        change = (self._noise(readings) - self._noise(now.readings)) if self.reading else 0.0
        own = max(self.interaction + change, 0.0) if wordings > 1 else self.interaction + change
        return own / wordings - self.interaction / now.wordings

    def _noise(self, readings: float) -> float:
        # A single reading is in one order of two, drawn for each item.
        in_one_order = (self.order or 0.0) / 2 if self.orders > 1 and readings < 2 else 0.0
        return (self.reading or 0.0) / readings + in_one_order


@dataclass(frozen=True)
class ErrorBudget:
    """Variance components of the judge's accuracy minus one person's.

    Attributes
    ----------
    value : float or None
        The difference; with three wordings or more, the mean over these.
    half_width : float or None
        Of its 95 % interval, which holds for other wordings too if there are three or more.
    shares : mapping of str to float
        Share of the variance of the difference: of kinds of clusters, ``"wording"``, and
        ``"answer"``, what is left for single answers.
    noise : JudgeNoise
    size : StudySize
    reason : str or None
        Why there is nothing.
    """

    value: float | None
    half_width: float | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    noise: JudgeNoise = JudgeNoise()
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
        noise = self.noise.of_mean(size.readings, size.wordings, self.size)
        total = max(self.row + noise, 0.0)
        for name, component in self.components.items():
            others = self.together[name]
            if name == ITEM:
                component, others = max(component + noise, 0.0), size.answers - 1
            elif name != "annotator":
                others = (others + 1) * grown - 1
            total += component * max(others, 0.0)
        df = self.df * size.items / self.size.items
        return _half_width(total / n, df, self.noise, size)


def _half_width(variance: float, df: float, noise: JudgeNoise, size: StudySize) -> float:
    """Half the width for these items and people, and for other wordings if these are known."""
    if not noise.wording:
        return float(t_quantile(df, 0.975) * np.sqrt(variance))
    cells = size.items * size.wordings
    of_wordings = noise.wording / size.wordings
    within = noise.interaction / cells
    total = variance + of_wordings
    # Satterthwaite: the mean squares between wordings and of items × wordings, and the rest.
    spread = variance**2 / df + (of_wordings + within) ** 2 / (size.wordings - 1)
    spread += within**2 / ((size.items - 1) * (size.wordings - 1))
    return float(t_quantile(total**2 / spread, 0.975) * np.sqrt(total))


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
    right, read : array_like of int, shape (n_items,) or (n_items, n_wordings, n_orders)
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
    share such a cluster. Readings of one item, wording and order give the variance between
    readings; what the two orders of an item differ by beyond it, that between orders. Wordings are
    a random sample: the mean squares of an analysis of variance of items × wordings, on items that
    were read in all of them, give the variance of accuracy between them.

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
    hits, n_read = (np.asarray(table, dtype=np.float64) for table in (right, read))
    if hits.ndim == 1:
        hits, n_read = hits[:, None, None], n_read[:, None, None]
    of_wording = n_read.sum(axis=2)
    known = np.flatnonzero((y >= 0) & (of_wording[rows] > 0).all(axis=1))
    if known.size == 0:
        return ErrorBudget(None, reason="empty_group")
    within = sharing if known.size == sharing.n else sharing.take(known)
    rows = rows[known]
    items = np.unique(rows)
    share = (hits.sum(axis=2) / np.maximum(of_wording, 1)).mean(axis=1)
    gap = share[rows] - y[known]
    readings = float(1 / np.mean(1 / of_wording[items]))
    size = StudySize(items.size, rows.size / items.size, readings, hits.shape[1])
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
    noise = JudgeNoise.of(hits[items], n_read[items])
    parts = {name: components[name] * together[name] / rows.size for name in within.used}
    left = max(variance - sum(parts.values()), 0.0)
    if noise.wording is not None:
        parts["wording"] = noise.wording / size.wordings
    parts["answer"] = left
    total = sum(parts.values())
    return ErrorBudget(
        value,
        _half_width(variance, df, noise, size),
        {name: part / total for name, part in parts.items()},
        noise,
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
        ``"items"``, ``"answers"``, ``"readings"`` or ``"wordings"``: change only this.
    """
    now = budget.size
    items = FACTORS if alone in ("", "items") else (1,)
    answers = {now.answers, *ANSWERS} if alone in ("", "answers") else {now.answers}
    readings, wordings = {now.readings}, {now.wordings}
    if budget.noise.reading is not None and alone in ("", "readings"):
        readings |= {*READINGS, 50}
    if budget.noise.wording is not None and alone in ("", "wordings"):
        wordings |= {*WORDINGS}
    best: Offer | None = None
    for factor, k, m, w in product(items, sorted(answers), sorted(readings), sorted(wordings)):
        size = StudySize(round(now.items * factor), k, m, w)
        width = budget.width_of(size)
        price = size.items * (k * answer + m * w * judgment)
        if width <= wanted and (best is None or price < best.price):
            best = Offer(size, width, price)
    return best
