"""What to buy next: how far each purchase narrows the judge's difference from the majority.

The quantity is the judge's mean share of right readings minus the majority's result, over items
whose vote is not tied; the interval is that of `general_difference`. People and judges answer as
in `StudyModel`. The standard deviation of what is hard for one judge alone is that which gives
readings of one item their variance, and the part of it that two judges have in common that which
gives them their covariance.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, sparse, special

from analysis.stats.core.results import FloatArray, IntArray, relabel
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.core.votes import Votes
from extras.planning.stats.simulated_studies import (
    FURTHEST,
    Effects,
    Layout,
    StudyModel,
    quadrature,
    random_layout,
)

NODES, WEIGHTS = quadrature(24)
ITEMS, PERSONAS, ANSWERS = "items", "personas", "answers"
SECOND_JUDGE, BOTH_ORDERS = "second_judge", "both_orders"
PURCHASES = (ITEMS, PERSONAS, ANSWERS, SECOND_JUDGE, BOTH_ORDERS)
_HELD = 2_000_000  # answers of simulated studies in memory at a time


@dataclass(frozen=True, eq=False)
class StudyDesign:
    """Who answers what, by codes of single answers and of items, and how judges are asked.

    Each of the `judges`, whose mean is compared, reads each item `readings` times.
    """

    item: IntArray
    annotator: IntArray
    persona: IntArray
    question: IntArray
    readings: int = 1
    judges: int = 1

    @classmethod
    def of(cls, layout: Layout) -> "StudyDesign":
        item = np.repeat(np.arange(layout.n_items), layout.answers)
        return cls(item, layout.seats.ravel(), layout.persona, layout.question)

    @property
    def n_items(self) -> int:
        return int(self.persona.size)

    def sharing(self) -> Sharing:
        """What the items share, as in a report."""
        votes = Votes.from_long(self.item, self.annotator, np.zeros(self.item.size, dtype=np.int64))
        clusters = {"persona": self.persona, "question": self.question}
        return Sharing.of_items(self.n_items, clusters, votes)


@dataclass(frozen=True)
class JudgeTruth:
    """How a judge's answers vary: at the same item, and from one judge to another.

    `reading` is the variance of single readings of the same item; None if nothing but the item's
    difficulty makes two readings alike. `together` is the covariance of two judges at the same
    item; None if they share only what is hard for people.
    """

    accuracy: float
    reading: float | None = None
    together: float | None = None


class _Truth:
    """Intercepts and standard deviations on the logit scale that give what was estimated."""

    def __init__(self, accuracy: float, effects: Effects, judge: JudgeTruth) -> None:
        self.effects, self.judge = effects, judge
        self.ease = StudyModel(float(np.clip(accuracy, 0.02, 0.98)), 1, effects).ease
        self.mean = float(np.clip(judge.accuracy, 0.02, 0.98))
        self.with_people = effects.overlap * effects.of_items
        own = float(np.sqrt(1 - effects.overlap**2) * effects.of_items)
        if (reading := judge.reading) is not None:
            own = _crossing(lambda sd: self._reading(sd) - reading, 0.0, FURTHEST)
        self.own = own
        self.judge_ease = self._judge_ease(own)
        self.in_common = 0.0
        if (together := judge.together) is not None:
            self.in_common = _crossing(lambda share: self._together(share) - together, 0.0, 1.0)

    def _judge_ease(self, own: float) -> float:
        wide = float(np.hypot(self.with_people, own))
        return float(
            optimize.brentq(
                lambda at: WEIGHTS @ special.expit(at + wide * NODES) - self.mean,
                -4 * FURTHEST,
                4 * FURTHEST,
            )
        )

    def _reading(self, own: float) -> float:
        wide = float(np.hypot(self.with_people, own))
        chance = special.expit(self._judge_ease(own) + wide * NODES)
        return float(WEIGHTS @ (chance * (1 - chance)))

    def _together(self, share: float) -> float:
        shared = float(np.hypot(self.with_people, np.sqrt(share) * self.own))
        rest = float(np.sqrt(1 - share) * self.own)
        chance = special.expit(self.judge_ease + shared * NODES[:, None] + rest * NODES) @ WEIGHTS
        return float(WEIGHTS @ chance**2 - (WEIGHTS @ chance) ** 2)

    def gaps(self, design: StudyDesign, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """Judge minus majority at each item of simulated studies; NaN where the vote is tied."""
        hard = self._difficulty(design, n_draws, rng)
        people = int(design.annotator.max()) + 1
        skill = self.effects.annotator * rng.standard_normal((n_draws, people))
        chance = special.expit(self.ease + hard[:, design.item] + skill[:, design.annotator])
        right = (rng.random(chance.shape) < chance).astype(np.float64)
        majority = majority_of(right, design)
        wide = self.effects.of_items or 1.0
        common = self._difficulty(design, n_draws, rng) / wide
        credit = np.zeros_like(hard)
        for _ in range(design.judges):
            own = np.sqrt(1 - self.in_common) * self._difficulty(design, n_draws, rng) / wide
            own += np.sqrt(self.in_common) * common
            chance = special.expit(self.judge_ease + self.effects.overlap * hard + self.own * own)
            credit += rng.binomial(design.readings, chance) / design.readings
        return np.asarray(credit / design.judges - majority)

    def _difficulty(self, design: StudyDesign, n: int, rng: np.random.Generator) -> FloatArray:
        difficulty = self.effects.item * rng.standard_normal((n, design.n_items))
        for sd, codes in (
            (self.effects.persona, design.persona),
            (self.effects.question, design.question),
        ):
            difficulty += sd * rng.standard_normal((n, int(codes.max()) + 1))[:, codes]
        return difficulty


def _crossing(excess: Callable[[float], float], low: float, high: float) -> float:
    """Where the excess is 0; the nearer end if it is nowhere between them."""
    ends = excess(low), excess(high)
    if ends[0] * ends[1] >= 0:
        return low if abs(ends[0]) <= abs(ends[1]) else high
    return float(optimize.brentq(excess, low, high, xtol=1e-6))


def majority_of(right: FloatArray, design: StudyDesign) -> FloatArray:
    """1 or 0 as the majority of an item's answers is right, NaN if it is tied or unanswered."""
    n = design.item.size
    table = sparse.csr_array((np.ones(n), (np.arange(n), design.item)), shape=(n, design.n_items))
    votes, cast = right @ table, np.bincount(design.item, minlength=design.n_items)
    return np.where(2 * votes == cast, np.nan, 2 * votes > cast)


def half_width_of(gaps: FloatArray, design: StudyDesign) -> float:
    """Half the 95 % interval of a study's mean difference; NaN without an interval."""
    return float(_half_widths(gaps[None], design.sharing())[0])


def _half_widths(gaps: FloatArray, sharing: Sharing) -> FloatArray:
    """Half widths of several studies with one design."""
    decided = ~np.isnan(gaps)
    if not decided.all():
        return np.concatenate(
            [
                _half_widths(gap[known][None], sharing.take(known)) if known.any() else [np.nan]
                for gap, known in zip(gaps, decided, strict=True)
            ]
        )
    if sharing.short or sharing.n < 2:
        return np.full(gaps.shape[0], np.nan)
    spread = sharing.spread(gaps)
    return np.asarray(special.stdtrit(spread.degrees_of_freedom, 0.975) * np.sqrt(spread.variance))


@dataclass(frozen=True)
class ExpectedWidth:
    """Mean half width of simulated studies of a design, and its Monte Carlo standard error.

    `value` is None if fewer than half of them have an interval.
    """

    value: float | None
    se: float = 0.0


def expected_half_width(
    accuracy: float,
    effects: Effects,
    judge: JudgeTruth,
    design: StudyDesign,
    *,
    n_draws: int = 200,
    rng: np.random.Generator,
) -> ExpectedWidth:
    """Half the width of the 95 % interval that studies of this design have on average."""
    truth, sharing = _Truth(accuracy, effects, judge), design.sharing()
    at_once = max(1, _HELD // max(design.item.size, design.n_items))
    parts = [
        _half_widths(truth.gaps(design, min(at_once, n_draws - start), rng), sharing)
        for start in range(0, n_draws, at_once)
    ]
    widths = np.concatenate(parts)
    known = widths[~np.isnan(widths)]
    if known.size * 2 < n_draws:
        return ExpectedWidth(None)
    return ExpectedWidth(float(known.mean()), float(known.std(ddof=1) / np.sqrt(known.size)))


def bought(
    design: StudyDesign,
    purchase: str,
    *,
    items: int = 0,
    answers: int = 0,
    people: int = 0,
    per_annotator: int = 1,
    rng: np.random.Generator,
) -> StudyDesign:
    """A design with one of `PURCHASES` more: new items, or new people for more answers.

    New items of the same personas have new questions in the same pattern; those of new personas
    keep the questions if items share these.
    """
    if purchase == SECOND_JUDGE:
        return replace(design, judges=design.judges + 1)
    if purchase == BOTH_ORDERS:
        return replace(design, readings=2 * design.readings)
    if purchase == ANSWERS:
        return _more_answers(design, people, per_annotator, rng)
    copy, place = np.divmod(np.arange(items), design.n_items)
    place = np.argsort(rng.random(design.n_items))[place]
    persona, question = (
        (codes[place], codes[place] + (copy + 1) * (int(codes.max()) + 1))
        for codes in (design.persona, design.question)
    )
    is_shared = np.unique(design.question).size < design.n_items
    new_persona = persona[1] if purchase == PERSONAS else persona[0]
    new_question = question[0] if purchase == PERSONAS and is_shared else question[1]
    seats = random_layout(
        place,
        place,
        n_items=items,
        answers=answers,
        per_annotator=min(per_annotator, items),
        rng=rng,
    ).seats
    return replace(
        design,
        item=np.concatenate([design.item, design.n_items + np.repeat(np.arange(items), answers)]),
        annotator=np.concatenate(
            [design.annotator, seats.ravel() + int(design.annotator.max()) + 1]
        ),
        persona=relabel(np.concatenate([design.persona, new_persona]))[0],
        question=relabel(np.concatenate([design.question, new_question]))[0],
    )


def _more_answers(
    design: StudyDesign, people: int, per_annotator: int, rng: np.random.Generator
) -> StudyDesign:
    counts = np.bincount(design.item, minlength=design.n_items)
    item, annotator = [design.item], [design.annotator]
    for number in range(people):
        fewest = np.lexsort((rng.random(design.n_items), counts))[:per_annotator]
        counts[fewest] += 1
        item.append(fewest)
        annotator.append(np.full(fewest.size, int(design.annotator.max()) + 1 + number))
    return replace(design, item=np.concatenate(item), annotator=np.concatenate(annotator))
