"""Whether a judge could take a person's place, with labels from 1 to 5.

People see an item's leaning with noise and have leanings of their own. The judge follows the item
in a share of cases and otherwise gives a random step, or always the middle one. The share is chosen
so that the judge is exactly at the limit: it loses epsilon on the scale where it is worse, or gains
half as much as a person over its own labels in random order, whichever needs the better judge. Its
level is that of people; the same judge one step too high has to be named.
"""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from analysis.stats import AnswerScale, PooledReplacement, Sharing, Votes, pooled_replacement_tests
from analysis.stats.comparison.level_shift import level_shift
from analysis.stats.core.results import FloatArray, IntArray
from benchmarks.simulations.answers import unequal_seats
from benchmarks.simulations.promises import Counts, MethodCheck, covers, errs

CUTS = np.array([-1.5, -0.5, 0.5, 1.5])
STEPS, MIDDLE, EPSILON, LEVEL = len(CUTS) + 1, 2, 0.1, 0.05
DRAWN, BATCH = 200_000, 50
SD_SIDE, SD_PERSON, SD_JUDGE = 0.5, 0.6, 0.3


@dataclass(frozen=True)
class PlantedSteps:
    """A design; `sd` is the standard deviation of the leanings of personas and of questions.

    Every pair of persona and question is an item; without personas, items share nothing.
    """

    k: int = 2
    n_items: int = 300
    n_people: int = 30
    load: float = 0.0
    personas: int = 0
    sd: float = 0.4
    says_middle: bool = False


@dataclass(frozen=True)
class StepTruth:
    """How often the judge follows the item at the limit, and its loss there on each scale."""

    follows: float
    raw: float
    balanced: float


def _scale() -> AnswerScale:
    return AnswerScale.of_values(np.arange(STEPS), [1_000] * STEPS)


def _answers(rng: np.random.Generator, signal: FloatArray, side: FloatArray, k: int) -> IntArray:
    """The steps of `k` people at each item; `side` has the leanings of those who answer."""
    heard = signal[..., None] + side + rng.normal(0, SD_PERSON, (*signal.shape, k))
    return np.asarray(np.searchsorted(CUTS, heard))


def _counted(steps: IntArray) -> IntArray:
    """How many people give each step to each item."""
    return np.asarray((steps[..., None] == np.arange(STEPS)).sum(axis=-2))


def _judged(
    rng: np.random.Generator, signal: FloatArray, follows: float, *, says_middle: bool
) -> IntArray:
    own = np.searchsorted(CUTS, signal + rng.normal(0, SD_JUDGE, signal.shape))
    other = rng.integers(0, STEPS, own.shape)
    other = np.full(own.shape, MIDDLE) if says_middle else other
    return np.asarray(np.where(rng.random(own.shape) < follows, own, other))


@cache
def step_truth(design: PlantedSteps) -> StepTruth:
    """The judge at the limit, from many items with two new people each."""
    rng = np.random.default_rng(0)
    sd = float(np.sqrt(1 + 2 * design.sd**2)) if design.personas else 1.0
    signal = rng.normal(0, sd, (1, DRAWN))
    counts = _counted(_answers(rng, signal, rng.normal(0, SD_SIDE, (1, DRAWN, 2)), 2))

    def found(follows: float) -> PooledReplacement:
        judge = _judged(rng, signal, follows, says_middle=design.says_middle)
        sharing = Sharing.of_items(DRAWN, {})
        [one] = pooled_replacement_tests(counts, judge, sharing, epsilon=EPSILON, scale=_scale())
        return one

    def losses(one: PooledReplacement) -> list[float]:
        return [float(side.advantage.value or 0) for side in (one.raw, one.balanced)]

    never, always = found(0.0), found(1.0)
    ends = [*zip(losses(never), losses(always), strict=True)]
    # Losses and gains are linear in how often the judge follows the item.
    needed = [(zero - EPSILON) / (zero - one) for zero, one in ends]
    half = float(always.people_gain or 0) / 2 / float(always.gain.value or 1)
    follows = max(*needed, half)
    raw, balanced = (zero + follows * (one - zero) for zero, one in ends)
    return StepTruth(follows, raw, balanced)


def at_the_limit(rng: np.random.Generator, counts: Counts, *, design: PlantedSteps) -> None:
    """Count the claims of a check of steps."""
    truth, n = step_truth(design), design.n_items
    seats = unequal_seats(rng, n, design.n_people, load=design.load)[:, : design.k]
    item = np.repeat(np.arange(n), design.k)
    clusters: dict[str, IntArray] = {}
    signal = rng.normal(0, 1, (BATCH, n))
    if design.personas:
        order = rng.permutation(n)
        clusters = {"persona": order % design.personas, "question": order // design.personas}
        for codes in clusters.values():
            signal += rng.normal(0, design.sd, (BATCH, codes.max() + 1))[:, codes]
    side = rng.normal(0, SD_SIDE, (BATCH, design.n_people))[:, seats]
    answers = _answers(rng, signal, side, design.k)
    judge = _judged(rng, signal, truth.follows, says_middle=design.says_middle)
    sharing = Sharing.of_items(n, clusters, Votes.from_long(item, seats.ravel(), item * 0))
    tests = pooled_replacement_tests(
        _counted(answers), judge, sharing, epsilon=EPSILON, scale=_scale()
    )
    for found in tests:
        raw, balanced = found.raw.advantage.interval, found.balanced.advantage.interval
        counts.covered("agreement lost", raw, truth.raw)
        counts.covered("balanced agreement lost", balanced, truth.balanced)
        counts.happened("the judge could replace a person", found.replaceable)
        lows = [ends.low for ends in (raw, balanced) if ends]
        counts.happened("the judge could not replace a person", max(lows, default=0) > EPSILON)
    _levels(counts, answers, judge, seats, sharing)


def _levels(
    counts: Counts, answers: IntArray, judge: IntArray, seats: IntArray, sharing: Sharing
) -> None:
    """Count the claims about the level of the judge, and of the same judge one step too high.

    Items, people and judge are symmetric around the middle, so the judge's level is people's.
    """
    n, k = seats.shape
    item = np.repeat(np.arange(n), k)
    for labels, own in zip(answers, judge, strict=True):
        for shift in (0, 1):
            found = level_shift(
                np.minimum(own + shift, STEPS - 1) / (STEPS - 1),
                item,
                seats.ravel(),
                labels.ravel() / (STEPS - 1),
                sharing,
            )
            if shift:
                counts.happened("a step too high is not named", (found.p or 0) > LEVEL)
            else:
                is_false = (found.p or 0) <= LEVEL
                counts.happened("the judge labels higher or lower than people", is_false)
                counts.covered("the judge minus people", found.interval, 0.0)


_PROMISES = {
    "the judge could replace a person": errs(0.05, most=0.06),
    "the judge could not replace a person": errs(0.05, most=0.06),
    "the judge labels higher or lower than people": errs(0.05, most=0.06),
    "the judge minus people": covers(),
    "a step too high is not named": errs(0.2),
    "agreement lost": covers(),
    "balanced agreement lost": covers(),
}
DESIGNS = {
    "steps 1 to 5, two answers an item": PlantedSteps(),
    "steps 1 to 5, a judge that says 3 when unsure": PlantedSteps(says_middle=True),
    "steps 1 to 5, personas and questions": PlantedSteps(k=3, n_people=40, personas=20, load=0.5),
    "steps 1 to 5, twelve people": PlantedSteps(k=3, n_items=400, n_people=12),
}


def _described(design: PlantedSteps) -> str:
    shared = (
        f"{design.personas} personas × {design.n_items // design.personas} questions"
        if design.personas
        else "no shared personas or questions"
    )
    other = "the middle step" if design.says_middle else "a random step"
    load = "unequally" if design.load else "equally often"
    return (
        f"{design.n_items} items, {design.k} answers each from 1 to 5, {design.n_people} people "
        f"who answer {load}; {shared}; the judge follows the item or gives {other}, and is at the "
        "limit of the loss or of the gain."
    )


CHECKS = tuple(
    MethodCheck(
        name,
        _described(design),
        partial(at_the_limit, design=design),
        _PROMISES,
        quick=100,
        full=2000,
        batch=BATCH,
    )
    for name, design in DESIGNS.items()
)
