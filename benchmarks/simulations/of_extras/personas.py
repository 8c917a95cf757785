"""Promises about the worth of a persona, checked on raters who read it or not."""

from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from analysis.stats import SharedKind, Sharing
from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.shared_variance import ANNOTATOR
from benchmarks.simulations.promises import Counts, Family, MethodCheck, covers, errs, is_on_average
from extras.personas.gain import individuality, moves_of, persona_gain
from extras.personas.signal_sizes import items_to_see

OF_QUESTION, PERSONAS, ANSWERS, EACH = 5, 60, 3, 30  # EACH: answers of one person
FLIPS = 0.1  # of a judge's readings


@dataclass(frozen=True)
class SignalWorld:
    """What is planted: the worth of the persona, and whether it differs between clusters.

    `reads` is False for raters who give both versions the same answer.
    """

    gain: float = 0.0
    differ: float = 0.0
    reads: bool = True
    accuracy: float = 0.6
    questions: int = 60


@dataclass(frozen=True, eq=False)
class MadePairs:
    """Chances of a right answer to both versions, and what the items share."""

    own: FloatArray
    other: FloatArray
    kinds: dict[str, SharedKind]


def pairs_of(rng: np.random.Generator, world: SignalWorld) -> MadePairs:
    """Five personas to a question, each persona in several, exchanged within questions."""
    n = world.questions * OF_QUESTION
    question, place = np.divmod(np.arange(n), OF_QUESTION)
    rounds = -(-n // PERSONAS)
    persona = np.concatenate([rng.permutation(PERSONAS) for _ in range(rounds)])[:n]
    shift = rng.integers(1, OF_QUESTION, world.questions)[question]
    other = persona[question * OF_QUESTION + (place + shift) % OF_QUESTION]
    of_persona = rng.normal(0, world.differ, (2, PERSONAS))
    of_question = rng.normal(0, world.differ, (2, world.questions))
    gain = world.gain + of_persona[0][persona] + of_question[0][question]
    base = world.accuracy - world.gain + of_question[1][question]
    first = base + gain + of_persona[1][persona]
    second = base + of_persona[1][other] if world.reads else first
    rows = np.arange(n)
    kinds = {
        "persona": SharedKind.of(np.tile(rows, 2), np.concatenate([persona, other]), n),
        "question": SharedKind.of(rows, question, n),
    }
    return MadePairs(np.clip(first, 0.02, 0.98), np.clip(second, 0.02, 0.98), kinds)


def people_of(
    rng: np.random.Generator, made: MadePairs, differ: float
) -> tuple[IntArray, IntArray, Sharing]:
    """Answers of three people to each version, right ones first; people differ."""
    n = made.own.size
    people = 2 * n * ANSWERS // EACH
    skill, reading = rng.normal(0, differ, (2, people))
    counts, rows, codes = [], [], []
    for chance, sign in ((made.own, 0.5), (made.other, -0.5)):
        who = np.argsort(rng.random((n, people)), axis=1)[:, :ANSWERS]
        p = np.clip(chance[:, None] + skill[who] + sign * reading[who], 0, 1)
        right = (rng.random(who.shape) < p).sum(axis=1)
        counts.append(np.stack([right, ANSWERS - right], axis=1))
        rows.append(np.repeat(np.arange(n), ANSWERS))
        codes.append(who.ravel())
    voters = SharedKind.of(np.concatenate(rows), np.concatenate(codes), n)
    return counts[0], counts[1], Sharing.of(n, {ANNOTATOR: voters} | made.kinds)


def judge_of(
    rng: np.random.Generator, made: MadePairs, world: SignalWorld
) -> tuple[IntArray, IntArray, Sharing]:
    """Two readings of each version by a judge whose answers flip now and then."""
    n = made.own.size
    drawn = rng.random((2, n))
    mine = [drawn[0] < made.own, drawn[int(world.reads)] < made.other]
    counts = []
    for known in mine:
        right = (known[:, None] ^ (rng.random((n, 2)) < FLIPS)).sum(axis=1)
        counts.append(np.stack([right, 2 - right], axis=1))
    return counts[0], counts[1], Sharing.of(n, made.kinds)


@cache
def true_moved(world: SignalWorld) -> float:
    """How much more often a judge's choice differs with another persona, by a long simulation."""
    if not world.reads:
        return 0.0
    rng, flips = np.random.default_rng(0), 2 * FLIPS * (1 - FLIPS)
    made = [pairs_of(rng, world) for _ in range(2000)]
    differs = [(m.own * (1 - m.other) + m.other * (1 - m.own)).mean() for m in made]
    return float(np.mean(differs)) * (1 - 2 * flips)


def judged(rng: np.random.Generator, counts: Counts, *, world: SignalWorld) -> None:
    own, other, sharing = judge_of(rng, pairs_of(rng, world), world)
    truth = np.zeros(own.shape[0], dtype=int)
    gain = persona_gain(own, other, truth, sharing)
    true = world.gain * (1 - 2 * FLIPS)
    counts.measured("worth to a judge", gain.value)
    counts.covered("interval of the worth", gain.interval, true)
    moved = general_difference(moves_of(own, other).beyond_chance, sharing)
    counts.covered("interval of moved", moved.interval, true_moved(world))
    if gain.p is not None:
        counts.happened("says that it is worth something", gain.p <= 0.05)
        counts.happened("finds the worth", gain.p <= 0.05 and (gain.value or 0) > 0)


def answered(rng: np.random.Generator, counts: Counts, *, world: SignalWorld) -> None:
    own, other, sharing = people_of(rng, pairs_of(rng, world), world.differ)
    gain = persona_gain(own, other, np.zeros(own.shape[0], dtype=int), sharing)
    counts.measured("worth to people", gain.value)
    counts.covered("interval of the worth", gain.interval, world.gain)
    if gain.p is not None:
        counts.happened("says that it is worth something", gain.p <= 0.05)
        counts.happened("finds the worth", gain.p <= 0.05 and (gain.value or 0) > 0)


def at_the_margin(rng: np.random.Generator, counts: Counts) -> None:
    """A worth of exactly the margin must not be called nothing."""
    world = SignalWorld(gain=0.05 / (1 - 2 * FLIPS), differ=0.05, questions=240)
    own, other, sharing = judge_of(rng, pairs_of(rng, world), world)
    found = persona_gain(own, other, np.zeros(own.shape[0], dtype=int), sharing)
    p = found.p_equivalence
    counts.happened("says that it is worth nothing", p is not None and p <= 0.05)


def individual(rng: np.random.Generator, counts: Counts, *, follows: float, shuffled: bool) -> None:
    """A rater who follows the persona in a share of items, and the question otherwise."""
    made = pairs_of(rng, SignalWorld(differ=0.05))
    n = made.own.size
    question = np.arange(n) // OF_QUESTION
    popular = rng.beta(2, 2, n)[question]
    own = (rng.random(n) < popular).astype(np.int64)
    usual = (popular > 0.5).astype(np.int64)
    chosen = np.where(rng.random(n) < follows, own, usual)
    readings = (chosen[:, None] ^ (rng.random((n, 2)) < FLIPS)).mean(axis=1)
    if shuffled:
        order = np.lexsort((rng.random(n), question))
        own = own[order]
    found = individuality(readings, own, question, Sharing.of(n, made.kinds))
    true = 0.0 if shuffled else follows * (1 - 2 * FLIPS)
    counts.measured("individuality", found.value)
    counts.covered("interval", found.interval, true)


_NULLS = {
    "a judge that does not read the persona": SignalWorld(reads=False, differ=0.07),
    "a judge that reads it in vain": SignalWorld(differ=0.0),
    "a judge that reads it in vain, personas and questions differ": SignalWorld(differ=0.07),
}
_GAINS = {
    "ten points, alike": SignalWorld(gain=0.1),
    "ten points, personas, questions and people differ": SignalWorld(gain=0.1, differ=0.07),
}
_DESIGN = "300 items of 60 questions and 60 personas, exchanged within questions. "
_LEVEL = {
    "says that it is worth something": errs(0.05, most=0.06),
    "interval of the worth": covers(),
}


def _needed(answers: int | None) -> SignalWorld:
    n = items_to_see(0.1, answers=answers, agreement=0.52)
    gain = 0.1 if answers else 0.1 / (1 - 2 * FLIPS)
    return SignalWorld(gain=gain, questions=-(-n // OF_QUESTION))


SIGNAL = Family(
    "persona-signal",
    (
        *(
            MethodCheck(
                name,
                f"{_DESIGN}Two readings of each version.",
                partial(judged, world=world),
                _LEVEL | {"worth to a judge": is_on_average(0.0), "interval of moved": covers()},
                quick=100,
                full=2000,
            )
            for name, world in _NULLS.items()
        ),
        *(
            MethodCheck(
                f"people who read it in vain{words}",
                f"{_DESIGN}Three of 60 people answer each version.",
                partial(answered, world=SignalWorld(differ=differ)),
                _LEVEL | {"worth to people": is_on_average(0.0)},
                quick=100,
                full=2000,
            )
            for words, differ in (("", 0.0), (", and differ", 0.07))
        ),
        *(
            MethodCheck(
                f"worth {name}: {side}",
                _DESIGN,
                partial(once, world=world),
                {"interval of the worth": covers()} | more(world),
                quick=100,
                full=2000,
            )
            for name, world in _GAINS.items()
            for side, once, more in (
                ("judge", judged, lambda world: {"interval of moved": covers()}),
                ("people", answered, lambda world: {"worth to people": is_on_average(0.1)}),
            )
        ),
        MethodCheck(
            "a worth of exactly the margin",
            "1,200 items; personas and questions differ.",
            at_the_margin,
            {"says that it is worth nothing": errs(0.05, most=0.06)},
            quick=100,
            full=1000,
        ),
        *(
            MethodCheck(
                f"as many items as needed to see ten points: {side}",
                "As many items as `items_to_see` says; all are alike.",
                partial(once, world=_needed(answers)),
                {"finds the worth": is_on_average(0.8, within=0.05)},
                quick=100,
                full=2000,
            )
            for side, once, answers in (("judge", judged, None), ("people", answered, ANSWERS))
        ),
        *(
            MethodCheck(
                f"individuality of a rater who follows {follows:.0%} of the personas{words}",
                f"{_DESIGN}Own answers depend on the question.",
                partial(individual, follows=follows, shuffled=shuffled),
                {
                    "individuality": is_on_average(
                        0.0 if shuffled else follows * (1 - 2 * FLIPS), within=0.005
                    ),
                    "interval": covers(),
                },
                quick=100,
                full=2000,
            )
            for follows, shuffled, words in (
                (0.0, False, ""),
                (0.4, False, ""),
                (0.4, True, ", shuffled within questions"),
            )
        ),
    ),
)
