"""Simulated studies: who answers what, and who is right."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import optimize, special, stats

from analysis.stats.core.results import FloatArray, IntArray, relabel
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.core.votes import Votes


def quadrature(n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of a standard normal distribution."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


NODES, WEIGHTS = quadrature(60)
FURTHEST = 12.0  # on the logit scale


@dataclass(frozen=True)
class Effects:
    """Standard deviations on the logit scale, and the overlap of difficulties.

    Attributes
    ----------
    item, annotator, persona, question : float
        Difficulty of items, skill of annotators, and effects of personas and questions.
    overlap : float
        Correlation of difficulty for people and for a judge, in [0, 1].
    """

    item: float = 1.0
    annotator: float = 0.6
    persona: float = 0.25
    question: float = 0.25
    overlap: float = 0.5

    def __post_init__(self) -> None:
        for name in ("item", "annotator", "persona", "question"):
            if not 0 <= getattr(self, name) <= 10:
                raise ValueError(f"`{name}` must lie in 0..10, got {getattr(self, name)}.")
        if not 0 <= self.overlap <= 1:
            raise ValueError(f"`overlap` must lie in 0..1, got {self.overlap}.")

    @property
    def of_items(self) -> float:
        """Total standard deviation of an item with its persona and question."""
        return float(np.sqrt(self.item**2 + self.persona**2 + self.question**2))


@dataclass(frozen=True)
class StudyModel:
    r"""Model of the accuracies of people, their majority and judges.

    Attributes
    ----------
    accuracy : float
        Accuracy of one annotator, in (0, 1).
    answers : int
        Answers behind a majority.
    effects : Effects

    Notes
    -----
    An annotator is right with the probability :math:`\operatorname{logit}^{-1}(\mu+h_i+s_a)`, where
    h is the sum of the normal effects of the item, its persona and its question, and s the effect
    of the annotator. A judge is right with :math:`\operatorname{logit}^{-1}(\nu+\rho
    h_i+\sqrt{1-\rho^2}h'_i)`, where h' has the same distribution. Expected values are Gauss-Hermite
    quadratures.
    """

    accuracy: float
    answers: int = 3
    effects: Effects = field(default_factory=Effects)

    def __post_init__(self) -> None:
        if not 0 < self.accuracy < 1:
            raise ValueError(f"`accuracy` must lie in (0, 1), got {self.accuracy}.")
        if self.answers < 1:
            raise ValueError(f"`answers` must be at least 1, got {self.answers}.")

    @cached_property
    def ease(self) -> float:
        """The intercept of people."""
        wide = float(np.hypot(self.effects.of_items, self.effects.annotator))
        return _solve(lambda at: float(WEIGHTS @ special.expit(at + wide * NODES)), self.accuracy)

    @cached_property
    def _decided(self) -> tuple[FloatArray, FloatArray]:
        """Probabilities of a right and of a wrong majority, by difficulty."""
        hard = self.effects.of_items * NODES
        one = special.expit(self.ease + hard[:, None] + self.effects.annotator * NODES) @ WEIGHTS
        half = self.answers / 2
        right = stats.binom.sf(np.floor(half), self.answers, one)
        wrong = stats.binom.cdf(np.ceil(half) - 1, self.answers, one)
        return np.asarray(right), np.asarray(wrong)

    @property
    def majority(self) -> float:
        """Accuracy of the majority on the items that it decides."""
        right, wrong = self._decided
        return float(WEIGHTS @ right / (WEIGHTS @ (right + wrong)))

    def judge(self, ease: float) -> float:
        """Accuracy of a judge with this intercept on the items that the majority decides."""
        rho = self.effects.overlap
        hard = self.effects.of_items * NODES
        own = np.sqrt(1 - rho**2) * hard
        chance = special.expit(ease + rho * hard[:, None] + own) @ WEIGHTS
        decided = WEIGHTS * sum(self._decided)
        return float(decided @ chance / decided.sum())

    def judge_ease(self, difference: float) -> float | None:
        """The intercept of a judge that is this much more accurate than the majority.

        None if its accuracy would be outside 0 to 1.
        """
        wanted = self.majority + difference
        if not self.judge(-FURTHEST) < wanted < self.judge(FURTHEST):
            return None
        return _solve(self.judge, wanted)


def _solve(share_at: Callable[[float], float], wanted: float) -> float:
    return float(optimize.brentq(lambda at: share_at(at) - wanted, -FURTHEST, FURTHEST, xtol=1e-10))


@dataclass(frozen=True, eq=False)
class Layout:
    """Seats of a study.

    Attributes
    ----------
    seats : ndarray of int, shape (n_items, answers)
        The annotators of each item.
    persona, question : ndarray of int, shape (n_items,)
        Codes from 0.
    """

    seats: IntArray
    persona: IntArray
    question: IntArray

    @property
    def n_items(self) -> int:
        return int(self.seats.shape[0])

    @property
    def answers(self) -> int:
        return int(self.seats.shape[1])

    @property
    def n_annotators(self) -> int:
        return int(self.seats.max()) + 1

    @cached_property
    def sharing(self) -> Sharing:
        """What the items share, as in a report."""
        item = np.repeat(np.arange(self.n_items), self.answers)
        votes = Votes.from_long(item, self.seats.ravel(), np.zeros(item.size, dtype=np.int64))
        clusters = {"persona": self.persona, "question": self.question}
        return Sharing.of_items(self.n_items, clusters, votes)


def random_layout(
    persona: IntArray,
    question: IntArray,
    *,
    n_items: int,
    answers: int,
    per_annotator: int,
    rng: np.random.Generator,
) -> Layout:
    """Fill seats at random, items with the fewest answers first.

    Parameters
    ----------
    persona, question : ndarray of int, shape (n,)
        Codes of existing or expected items. If `n_items` is smaller, items are drawn from them; if
        it is larger, further items get new personas and questions in the same pattern, so that
        everything grows together.
    n_items, answers, per_annotator : int
        Items, answers per item, and items per annotator.
    rng : numpy.random.Generator

    Returns
    -------
    Layout

    Raises
    ------
    ValueError
        If an annotator would answer an item twice.

    Examples
    --------
    >>> each = np.arange(30)
    >>> found = random_layout(each, each, n_items=30, answers=3, per_annotator=10,
    ...                       rng=np.random.default_rng(1))
    >>> found.n_annotators, bool((np.sort(found.seats, axis=1)[:, 1:] > 0).all())
    (9, True)
    """
    if min(n_items, answers, per_annotator) < 1 or persona.size == 0:
        raise ValueError("There must be at least one item, one answer and one item per annotator.")
    if per_annotator > n_items:
        raise ValueError(f"An annotator cannot answer {per_annotator} of {n_items} items.")
    if answers * n_items < per_annotator:
        raise ValueError("There are fewer seats than items per annotator.")
    seats = np.empty((n_items, answers), dtype=np.int64)
    last = np.empty(0, dtype=np.int64)  # items of the annotator being filled
    for turn in range(answers):
        order = rng.permutation(n_items)
        if last.size:
            # Items that this annotator already has come last in the next round.
            known = np.isin(order, last)
            order = np.concatenate([order[~known], order[known]])
        at = turn * n_items + np.arange(n_items)
        seats[order, turn] = at // per_annotator
        open_items = (turn + 1) * n_items % per_annotator
        last = order[n_items - open_items :] if open_items else order[:0]
    copy, place = np.divmod(np.arange(n_items), persona.size)
    if n_items < persona.size:
        place = rng.permutation(persona.size)[:n_items]
    return Layout(seats, _copied(persona, place, copy), _copied(question, place, copy))


def _copied(codes: IntArray, place: IntArray, copy: IntArray) -> IntArray:
    wide = int(codes.max()) + 1
    if wide == 1:  # A study about one persona or one question keeps just one.
        return np.zeros(place.size, dtype=np.int64)
    return relabel(codes[place] + copy * wide)[0]
