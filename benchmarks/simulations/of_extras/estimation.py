"""Promises of means over all judged items, win rates and strengths, checked by simulation."""

from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np

from analysis.stats import Sharing, Votes
from analysis.stats.core.results import BoolArray, FloatArray, IntArray
from analysis.stats.systems.strengths import fit_strengths, results
from benchmarks.simulations.promises import Counts, Family, MethodCheck, compared, covers, errs
from extras.estimation.stats import (
    Contests,
    calibrated_mean,
    corrected_win_rates,
    powered_mean,
    system_strengths,
    win_rates,
)
from extras.estimation.stats.scores import width

JudgeKind = Literal["useless", "perfect", "biased"]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
EASE, SD_ITEM, SD_PERSON, PER_ITEM = 0.6, 0.8, 0.6, 3
# A biased judge: its error rate, and its lowest certainty.
WRONG, FLOOR = 0.25, 0.4
# The second of two strata: how much harder its items are.
HARDER = 1.2


@dataclass(frozen=True)
class Judged:
    """A study design.

    Attributes
    ----------
    n_items, n_answered : int
        Items that the judge judged, and the number that people answered.
    personas, questions : int
        Items are spread over them; with 0 questions, each item has its own.
    sd : float
        Standard deviation of personas and of questions on the logit scale.
    people : int
        Annotators, three per answered item; 0 if a single answer is the truth.
    n_strata : int
        1 or 2; a second one is harder and has three quarters of the answered items.
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
    """The share of yes over all items, people, personas and questions."""
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
    """Who answered what. Fixed for all studies of a design; everything else is drawn again."""

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


def sampled(design: Judged, judge: JudgeKind, rng: np.random.Generator) -> Sample:
    """People's answers to some items, and the judge's signal for all."""
    layout, n = _layout(design), design.n_items
    ease = EASE - HARDER * layout.stratum + rng.normal(0, SD_ITEM, n)
    ease += rng.normal(0, design.sd, design.personas)[layout.persona]
    ease += rng.normal(0, design.sd, layout.question.max() + 1)[layout.question]
    if design.people:
        # Unanswered items have no annotator effect.
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


def _signal(says: FloatArray, judge: JudgeKind, rng: np.random.Generator) -> FloatArray:
    if judge == "useless":
        return rng.random(says.size)
    if judge == "perfect":
        return says
    wrong = rng.random(says.size) < WRONG
    certainty = rng.choice([0.6, 0.8, 1.0], says.size)
    return FLOOR + (1 - FLOOR) * np.where(wrong, 1 - says, says) * certainty


DESIGNS = {
    "20 of 200 answered": Judged(200, 20, 100, 0, 0.5),
    "60 of 200 answered": Judged(200, 60, 100, 0, 0.5),
    "100 of 400 answered, clustered": Judged(400, 100, 40, 20, 0.5),
    "100 of 400 answered by 24 people": Judged(400, 100, 40, 20, 0.5, people=24),
}
STRATA = {"80 of 400 answered, drawn from two strata": Judged(400, 80, 40, 20, 0.3, n_strata=2)}
JUDGES: tuple[JudgeKind, ...] = ("useless", "perfect", "biased")
WIDER = 1.02  # relative to the width from answers alone


def powered(rng: np.random.Generator, counts: Counts, *, design: Judged, judge: JudgeKind) -> None:
    sample, truth = sampled(design, judge, rng), true_share(design)
    strata = sample.stratum if design.n_strata > 1 else None
    found = powered_mean(
        sample.target, sample.signal, sample.sharing, strata=strata, folds=sample.folds, rng=rng
    )
    counts.covered("prediction-powered interval", found.powered.interval, truth)
    widths = width(found.powered), width(found.alone)
    if widths[0] is not None and widths[1] is not None:
        counts.happened("is wider by more than 2 %", widths[0] > WIDER * widths[1])


def calibrated(rng: np.random.Generator, counts: Counts, *, design: Judged) -> None:
    sample, truth = sampled(design, "biased", rng), true_share(design)
    found = calibrated_mean(sample.target, sample.signal, sample.sharing, folds=sample.folds)
    counts.covered("calibrated interval", found.mean.interval, truth)
    counts.covered("interval of the residual", found.residual.interval, 0.0)


_OF_MEANS = (
    *(
        MethodCheck(
            f"{judge} judge, {name}",
            f"A {judge} judge judged all items; 95 % intervals of people’s answers to all.",
            partial(powered, design=design, judge=judge),
            {
                "prediction-powered interval": covers(least=0.92),
                "is wider by more than 2 %": errs(0.0),
            },
            quick=100,
            full=2000,
        )
        for name, design in (DESIGNS | STRATA).items()
        for judge in JUDGES
    ),
    *(
        MethodCheck(
            f"calibrated judge, {name}",
            "A judge that errs on a quarter; people’s answers correct its signal.",
            partial(calibrated, design=design),
            {
                "calibrated interval": covers(least=0.92),
                "interval of the residual": covers(least=0.92),
            },
            quick=100,
            full=2000,
        )
        for name, design in DESIGNS.items()
    ),
)


# Systems

STRENGTHS = np.array([0.9, 0.3, -0.2, -1.0])


def planted(
    rng: np.random.Generator, *, accuracy: float, n_personas: int = 60, each: int = 6
) -> tuple[Contests, IntArray, IntArray, IntArray]:
    """Contests, people who share tastes within a persona, a judge with random errors, personas."""
    n = n_personas * each
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    persona = np.arange(n) // each
    # A taste that reverses the comparison for people of a persona.
    taste = rng.normal(0, 0.7, (n_personas, 4))
    own = STRENGTHS + taste[persona]
    rows = np.arange(n)
    p = 1 / (1 + np.exp(own[rows, second] - own[rows, first]))
    people = (rng.random(n) >= p).astype(int)
    judge = np.where(rng.random(n) < accuracy, people, 1 - people)
    return Contests.of(first, second), people, judge, persona


@cache
def true_rates(n: int = 200_000) -> tuple[FloatArray, FloatArray]:
    """Win rates and strengths over all personas, from one very large study."""
    contests, people, _, _ = planted(
        np.random.default_rng(99), accuracy=1, n_personas=n // 2, each=2
    )
    won = np.where(people == 0, contests.first, contests.second)
    met = np.bincount(contests.first, minlength=4) + np.bincount(contests.second, minlength=4)
    strengths = fit_strengths(*results(contests, people, np.ones((1, n)))).strength[0]
    return np.bincount(won, minlength=4) / met, strengths


def rates(rng: np.random.Generator, counts: Counts, *, accuracy: float) -> None:
    of_rates, of_strengths = true_rates()
    contests, people, judge, persona = planted(rng, accuracy=accuracy)
    sharing = Sharing.of_items(persona.size, {"persona": persona})
    # Errors are known for one third of the items.
    some = np.where(rng.random(persona.size) < 1 / 3, people, -1)
    for name, found, truth in (
        ("win rate", [each.rate for each in win_rates(contests, people, sharing)], of_rates),
        ("strength", system_strengths(contests, people, sharing).strengths, of_strengths),
        ("corrected", corrected_win_rates(contests, judge, some, sharing).rates, of_rates),
        ("uncorrected", [each.rate for each in win_rates(contests, judge, sharing)], of_rates),
    ):
        for each, at in zip(found, truth, strict=True):
            counts.covered(name, each.interval, float(at))


_OF_SYSTEMS = tuple(
    MethodCheck(
        f"four systems, a judge right on {100 * accuracy:.0f} %",
        "60 personas with different tastes × 6 items; the judge’s errors are known for a third.",
        partial(rates, accuracy=accuracy),
        {
            "win rate": covers(),
            "strength": covers(),
            "corrected": covers(),
            "uncorrected": compared(),
        },
        quick=40,
        full=1500,
    )
    for accuracy in (0.7, 0.85)
)


ESTIMATION = Family("estimation", _OF_MEANS)
SYSTEMS = Family("systems", _OF_SYSTEMS)
