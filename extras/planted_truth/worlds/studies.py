"""Whole studies of one design with a known truth: people, their majority and three judges.

Items, people, personas and questions have effects on the logit scale; half of the difficulty of an
item, a persona or a question is the same for people and judges.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import optimize

from analysis.stats import Kind, Sharing, Votes
from analysis.stats.core.results import BoolArray, FloatArray, IntArray
from extras.planted_truth.worlds.answers import logistic, unequal_seats

JUDGES, K = 3, 3
EASE, SD_ITEM, SD_PERSON, IN_COMMON = 0.5, 1.0, 0.6, 0.5
CERTAIN = 0.4
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class Design:
    """A study design: who answers what, and how much personas and questions matter.

    Attributes
    ----------
    people : str
        ``blocks`` of three who share 30 items, or ``seats`` that are filled at random.
    personas, questions : int
        Every item is one persona with one question; 0 draws them at random from 60 each.
    sd : float
        Standard deviation of personas and of questions on the logit scale.
    target : float
        True accuracy of every judge less that of the majority.
    load : float
        The chance to get a seat falls with a person's rank to this power; 0 for equal loads.
    """

    people: str = "blocks"
    personas: int = 20
    questions: int = 15
    sd: float = 0.0
    target: float = 0.0
    n_items: int = 300
    n_people: int = 30
    load: float = 0.0


@dataclass(frozen=True)
class Truth:
    """Expected accuracies and agreement over all items, people, personas and questions.

    `pairs` is how often two people agree, `with_majority` how often a judge agrees with three.
    """

    single: float
    majority: float
    judge: float
    ease_of_judge: float
    pairs: float
    with_majority: float


@cache
def truth_of(design: Design) -> Truth:
    """The truth of a design, by Gauss-Hermite quadrature."""
    sd = float(np.sqrt(SD_ITEM**2 + 2 * design.sd**2))
    one = (logistic(EASE + sd * NODES[:, None] + SD_PERSON * NODES) * WEIGHTS).sum(axis=1)
    of_three = 3 * one**2 - 2 * one**3
    majority = float(WEIGHTS @ of_three)
    wanted = majority + design.target
    ease = optimize.brentq(lambda at: WEIGHTS @ logistic(at + sd * NODES) - wanted, -9, 9)
    hard = sd * (IN_COMMON * NODES[:, None] + np.sqrt(1 - IN_COMMON**2) * NODES)
    judge = (logistic(ease + hard) * WEIGHTS).sum(axis=1)  # for each difficulty for people
    return Truth(
        single=float(WEIGHTS @ one),
        majority=majority,
        judge=wanted,
        ease_of_judge=float(ease),
        pairs=float(WEIGHTS @ (one**2 + (1 - one) ** 2)),
        with_majority=float(WEIGHTS @ (judge * of_three + (1 - judge) * (1 - of_three))),
    )


@dataclass(frozen=True, eq=False)
class StudyBatch:
    """Studies that share who answered what and differ in all else: clusters, and who was right.

    Shapes: `alone` (studies, answers), `majority` (studies, items), `judges` and `certain`
    (studies, judges, items); `certain` is for the first judge and people.
    """

    items: Sharing
    answers: Sharing
    judged: Sharing
    alone: FloatArray
    majority: FloatArray
    judges: FloatArray
    certain: BoolArray


def batch_of(design: Design, count: int, rng: np.random.Generator) -> StudyBatch:
    """`count` studies with the same seats, personas and questions."""
    truth, n_items = truth_of(design), design.n_items
    seats, persona, question = _layout(design, rng)
    item, person = np.repeat(np.arange(n_items), K), seats.ravel()
    clusters = {"persona": persona, "question": question}
    items = Sharing.of_items(n_items, clusters, Votes.from_long(item, person, item * 0))
    of_answers = {"item": item, "annotator": person} | {k: v[item] for k, v in clusters.items()}
    rows = np.arange(item.size)
    kinds = {name: Kind.of(rows, codes, rows.size) for name, codes in of_answers.items()}
    hard = _effects(design, count, persona, question, rng)
    skill = rng.normal(0, SD_PERSON, (count, design.n_people))
    chance = logistic(EASE + hard[:, item] + skill[:, person])
    alone = rng.random(chance.shape) < chance
    own = [_effects(design, count, persona, question, rng) for _ in range(JUDGES)]
    mixed = [IN_COMMON * hard + np.sqrt(1 - IN_COMMON**2) * effects for effects in own]
    chances = logistic(truth.ease_of_judge + np.stack(mixed, axis=1))
    return StudyBatch(
        items=items,
        answers=Sharing.of(rows.size, kinds),
        judged=items.without("annotator"),
        alone=alone.astype(float),
        majority=(alone.reshape(count, n_items, K).sum(axis=2) > K / 2).astype(float),
        judges=(rng.random(chances.shape) < chances).astype(float),
        certain=rng.random((count, 2, n_items)) < CERTAIN,
    )


def _effects(
    design: Design, count: int, persona: IntArray, question: IntArray, rng: np.random.Generator
) -> FloatArray:
    """The easiness of each item compared with the average, shape (studies, items)."""
    found = rng.normal(0, SD_ITEM, (count, persona.size))
    for codes in (persona, question):
        found += rng.normal(0, design.sd, (count, codes.max() + 1))[:, codes]
    return found


def _layout(design: Design, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
    n = design.n_items
    if design.people == "blocks":
        blocks = design.n_people // K
        seats = (np.arange(n) * blocks // n)[:, None] * K + np.arange(K)
    else:
        seats = unequal_seats(rng, n, design.n_people, load=design.load)[:, :K]
    if design.personas:
        order = rng.permutation(n)
        return seats, order % design.personas, order // design.personas % design.questions
    return seats, rng.integers(0, 60, n), rng.integers(0, 60, n)
