"""Promises about the effect of arms, checked on people and judges whose effect is known."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special

from analysis.stats.core.multiplicity import holm
from analysis.stats.core.results import FloatArray, IntArray
from benchmarks.simulations.promises import Counts, Family, MethodCheck, covers, errs, is_on_average
from extras.advice.arm_effects import ArmAnswers, arm_difference

NONE, CONSULTANCY, DEBATE = range(3)
PERSONAS, PEOPLE, ANSWERS, OF_QUESTION = 40, 45, 3, 4
_CONTRASTS = ((DEBATE, NONE), (CONSULTANCY, NONE), (DEBATE, CONSULTANCY))


@dataclass(frozen=True)
class ArmWorld:
    """What is planted: the effect of each arm, and how much clusters and people differ.

    `differ` is the deviation of personas, questions and people in accuracy, and half of it that of
    what an arm does to personas and questions; `react` is that of what it does to people.
    """

    effects: tuple[float, float, float] = (0.0, 0.0, 0.0)
    differ: float = 0.0
    react: float = 0.0
    items: int = 120


def _chances(rng: np.random.Generator, world: ArmWorld) -> tuple[FloatArray, dict[str, IntArray]]:
    """The chance of a right answer to each item in each arm, and what items share."""
    n = world.items
    codes = {
        "persona": rng.integers(0, PERSONAS, n),
        "question": np.arange(n) // OF_QUESTION,
    }
    chance = np.full((n, 3), 0.6) + np.array(world.effects)
    for code in codes.values():
        most = int(code.max()) + 1
        shifts = rng.normal(0, world.differ, (most, 1)) + rng.normal(0, world.differ / 2, (most, 3))
        chance = chance + shifts[code]
    return chance, codes


def people(rng: np.random.Generator, world: ArmWorld) -> ArmAnswers:
    """Three people in each arm of each item, each in one arm of it."""
    chance, codes = _chances(rng, world)
    n = world.items
    skill = rng.normal(0, world.differ, (PEOPLE, 1)) + rng.normal(0, world.react, (PEOPLE, 3))
    order = np.argsort(rng.random((n, PEOPLE)), axis=1)[:, : 3 * ANSWERS]
    item = np.repeat(np.arange(n), 3 * ANSWERS)
    arm = np.tile(np.repeat([NONE, CONSULTANCY, DEBATE], ANSWERS), n)
    person = order.ravel()
    p = np.clip(chance[item, arm] + skill[person, arm], 0, 1)
    right = (rng.random(p.size) < p).astype(np.float64)
    return ArmAnswers(item, arm, right, np.full(p.size, 0.7), person, codes)


def judge(rng: np.random.Generator, world: ArmWorld) -> ArmAnswers:
    """A judge asked in two orders, before and after each text; a first answer often stays."""
    chance, codes = _chances(rng, world)
    n = world.items
    item = np.repeat(np.arange(n), 4)
    arm = np.tile([CONSULTANCY, DEBATE], 2 * n)
    clip = np.clip(chance, 0, 1)
    luck = special.ndtr(0.9 * rng.normal(size=(n, 1)) + 0.19**0.5 * rng.normal(size=(n, 4)))
    before = luck.ravel() < clip[item, NONE]
    after = luck.ravel() < clip[item, arm]
    flips = rng.random((2, 4 * n)) < 0.05
    right = np.concatenate([before ^ flips[0], after ^ flips[1]]).astype(np.float64)
    arms = np.concatenate([np.full(4 * n, NONE), arm])
    return ArmAnswers(np.tile(item, 2), arms, right, np.full(8 * n, 0.7), None, codes)


def once(rng: np.random.Generator, counts: Counts, *, world: ArmWorld, is_judge: bool) -> None:
    answers = (judge if is_judge else people)(rng, world)
    share = 0.9 if is_judge else 1.0  # what flips leave of an effect
    found = []
    for one, other in _CONTRASTS:
        difference = arm_difference(answers.right, answers, one, other)
        true = (world.effects[one] - world.effects[other]) * share
        counts.covered("interval of the effect", difference.interval, true)
        found.append((difference, true))
    counts.measured("effect of a debate", found[0][0].value)
    adjusted = holm([difference.p for difference, _ in found])
    spoken = [p is not None and p <= 0.05 for p in adjusted]
    false = [says and true == 0 for says, (_, true) in zip(spoken, found, strict=True)]
    turned = [
        says and (difference.value or 0) * true < 0
        for says, (difference, true) in zip(spoken, found, strict=True)
    ]
    if any(true == 0 for _, true in found):
        counts.happened("says that an arm without effect has one", any(false))
    if any(world.effects):
        counts.happened("says the wrong direction", any(turned))
        counts.happened("finds that a debate helps", spoken[0] and (found[0][0].value or 0) > 0)


_NULLS = {
    "no arm has an effect": ArmWorld(),
    "no arm has an effect, people, personas and questions differ": ArmWorld(differ=0.07, react=0.1),
}
_HELPS = {
    "a debate helps by 12 points": ArmWorld(effects=(0.0, 0.0, 0.12)),
    "a debate helps, an adviser misleads, clusters differ": ArmWorld(
        effects=(0.0, -0.08, 0.12), differ=0.07, react=0.1
    ),
}
_DESIGN = "120 items of 30 questions and 40 personas, each in three arms. "
_SIDES = {"people": f"{_DESIGN}Three of 45 people in each.", "judge": f"{_DESIGN}Two orders."}

ARMS = Family(
    "arms",
    tuple(
        MethodCheck(
            f"{name}: {side}",
            words,
            partial(once, world=world, is_judge=side == "judge"),
            {"interval of the effect": covers()}
            | (
                {"says that an arm without effect has one": errs(0.05, most=0.06)}
                if 0.0 in world.effects[1:]
                else {}
            )
            | ({"says the wrong direction": errs(0.02, most=0.02)} if any(world.effects) else {})
            | (
                {
                    "effect of a debate": is_on_average(
                        world.effects[DEBATE] * (0.9 if side == "judge" else 1.0), within=0.006
                    )
                }
            ),
            quick=100,
            full=2000,
        )
        for name, world in (_NULLS | _HELPS).items()
        for side, words in _SIDES.items()
    ),
)
