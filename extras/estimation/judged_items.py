"""Items that a judge judged and of which people answered some, where the true share is known."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from analysis.stats import Sharing, Votes
from analysis.stats.core.results import BoolArray, FloatArray, IntArray

Judge = Literal["useless", "perfect", "biased"]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
EASE, SD_ITEM, SD_PERSON, PER_ITEM = 0.6, 0.8, 0.6, 3
# A biased judge: how often it is wrong, and where its certainty begins.
WRONG, FLOOR = 0.25, 0.4
# The second of two strata: how much harder its items are.
HARDER = 1.2


@dataclass(frozen=True)
class Judged:
    """A study design.

    Attributes
    ----------
    n_items, n_answered : int
        Items that the judge judged, and those of them that people answered.
    personas, questions : int
        Items are spread over them; without questions every item asks another one.
    sd : float
        Standard deviation of personas and of questions on the logit scale.
    people : int
        Annotators, three to an answered item; 0 if one answer of nobody in particular is the truth.
    n_strata : int
        1, or 2 of which the second is harder and has three quarters of the answered items.
    """

    n_items: int
    n_answered: int
    personas: int
    questions: int
    sd: float
    people: int = 0
    n_strata: int = 1


@dataclass(frozen=True, eq=False)
class Sample:
    """One study: `target` is NaN where nobody answered."""

    target: FloatArray
    signal: FloatArray
    sharing: Sharing
    stratum: IntArray
    persona: IntArray
    answered: BoolArray

    @property
    def folds(self) -> IntArray:
        return self.persona % 10


def logistic(x: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-x)), dtype=np.float64)


@cache
def true_share(design: Judged) -> float:
    """The share of all items, persons, personas and questions at which people say yes."""
    sd = np.sqrt(SD_ITEM**2 + 2 * design.sd**2)
    shares = [_share(EASE - HARDER * stratum, float(sd), design) for stratum in _strata(design)]
    return float(np.mean(shares))


def _strata(design: Judged) -> range:
    return range(design.n_strata)


def _share(ease: float, sd: float, design: Judged) -> float:
    at = ease + sd * NODES
    if not design.people:
        return float(WEIGHTS @ logistic(at))
    one = logistic(at[:, None] + SD_PERSON * NODES) @ WEIGHTS
    return float(WEIGHTS @ (3 * one**2 - 2 * one**3))


@dataclass(frozen=True, eq=False)
class _Layout:
    """Who answered what; the same in every study of a design, because all else is drawn again."""

    stratum: IntArray
    persona: IntArray
    question: IntArray
    answered: BoolArray
    seats: IntArray
    sharing: Sharing


@cache
def _layout(design: Judged) -> _Layout:
    rng, n = np.random.default_rng(5), design.n_items
    stratum = np.arange(n) * design.n_strata // n
    place = rng.permutation(n)
    persona = place % design.personas
    question = place // design.personas % design.questions if design.questions else np.arange(n)
    answered = np.zeros(n, dtype=np.bool_)
    shares = (1.0,) if design.n_strata == 1 else (0.25, 0.75)
    for code, share in enumerate(shares):
        mine = np.flatnonzero(stratum == code)
        answered[rng.choice(mine, round(share * design.n_answered), replace=False)] = True
    people = max(design.people, PER_ITEM)
    seats = np.argsort(rng.random((n, people)), axis=1)[:, :PER_ITEM]
    clusters = {"persona": persona, "question": question}
    votes = None
    if design.people:
        item = np.repeat(np.flatnonzero(answered), PER_ITEM)
        votes = Votes.from_long(item, seats[answered].ravel(), item * 0, n_items=n)
    sharing = Sharing.of_items(n, clusters, votes)
    return _Layout(stratum, persona, question, answered, seats, sharing)


def sampled(design: Judged, judge: Judge, rng: np.random.Generator) -> Sample:
    """People's answers to a part of the items, and the judge's signal for all."""
    layout, n = _layout(design), design.n_items
    ease = EASE - HARDER * layout.stratum + rng.normal(0, SD_ITEM, n)
    ease += rng.normal(0, design.sd, design.personas)[layout.persona]
    ease += rng.normal(0, design.sd, layout.question.max() + 1)[layout.question]
    if design.people:
        # Nobody in particular stands behind items that nobody answered.
        skill = rng.normal(0, SD_PERSON, design.people)[layout.seats]
        skill = np.where(layout.answered[:, None], skill, rng.normal(0, SD_PERSON, skill.shape))
        yes = rng.random((n, PER_ITEM)) < logistic(ease[:, None] + skill)
        says = (yes.sum(axis=1) > PER_ITEM / 2).astype(float)
    else:
        says = (rng.random(n) < logistic(ease)).astype(float)
    return Sample(
        target=np.where(layout.answered, says, np.nan),
        signal=_signal(says, judge, rng),
        sharing=layout.sharing,
        stratum=layout.stratum,
        persona=layout.persona,
        answered=layout.answered,
    )


def _signal(says: FloatArray, judge: Judge, rng: np.random.Generator) -> FloatArray:
    if judge == "useless":
        return rng.random(says.size)
    if judge == "perfect":
        return says
    wrong = rng.random(says.size) < WRONG
    certainty = rng.choice([0.6, 0.8, 1.0], says.size)
    return FLOOR + (1 - FLOOR) * np.where(wrong, 1 - says, says) * certainty
