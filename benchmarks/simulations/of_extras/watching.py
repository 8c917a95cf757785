"""Watched sets: how often an unchanged one shows a move, and a moved one shows what moved."""

from functools import partial

import numpy as np
from scipy.special import expit, logit

from analysis.stats.core.results import FloatArray
from benchmarks.simulations.promises import (
    Counts,
    Family,
    MethodCheck,
    compared,
    covers,
    errs,
)
from extras.watching.evidence import ITEMS, JUDGE, KINDS, PEOPLE, Baseline, LookNumbers, evidence
from extras.watching.stats import mean_sequence

ITEMS_OF_SET, AT_ONCE, FIRST = 200, 3, 40
# The look before which the world moves.
MOVES_AT = 30


class World:
    """A judge with a chance of its own for each item, people who differ, and items by persona.

    A moved judge answers `flipped` of the items the other way and states `higher` certainties;
    moved items are longer and of a topic that was rare; moved people agree with the judge less.
    """

    def __init__(self, rng: np.random.Generator, moved: frozenset[str], size: float) -> None:
        self._rng, self._moved, self._size = rng, moved, size
        # Most answers are stable, some are not: about 12 % differ when asked again.
        unstable = rng.beta(0.3, 4, ITEMS_OF_SET)
        self._chance = np.where(rng.random(ITEMS_OF_SET) < 0.5, unstable, 1 - unstable)
        self._certainty = rng.uniform(60, 95, ITEMS_OF_SET)
        self._flipped = rng.random(ITEMS_OF_SET) < size
        self._people_ease = rng.normal(0.8, 1.0, ITEMS_OF_SET)
        self.choices, self.certainties = self._asked(has_moved=False)

    def _asked(self, *, has_moved: bool) -> tuple[FloatArray, FloatArray]:
        chance, certainty = self._chance, self._certainty
        if has_moved:
            chance = np.where(self._flipped, 1 - chance, chance)
            certainty = certainty + 50 * self._size
        choices = (self._rng.random(ITEMS_OF_SET) < chance).astype(np.float64)
        stated = (certainty + self._rng.normal(0, 5, ITEMS_OF_SET)) / 100
        return choices, np.clip(stated, 0.01, 1).round(2)

    def again(self, *, has_moved: bool) -> tuple[list[float], list[float], float]:
        choices, certainties = self._asked(has_moved=has_moved and JUDGE in self._moved)
        changed = np.abs(choices - self.choices), np.abs(certainties - self.certainties)
        higher = 100 * float((certainties - self.certainties).mean())
        return changed[0].tolist(), changed[1].tolist(), higher

    def annotators(self, n: int, *, has_moved: bool) -> list[float]:
        """Shares of 20 answers that differ from the judge's; people differ from one another."""
        shares = []
        for own in self._rng.normal(0, 0.6, n):
            about = self._rng.choice(ITEMS_OF_SET, 20, replace=False)
            agrees = expit(self._people_ease[about] + own)
            if has_moved and PEOPLE in self._moved:
                agrees = expit(logit(agrees) - 10 * self._size)
            shares.append(float((self._rng.random(20) >= agrees).mean()))
        return shares

    def items(self, n: int, *, has_moved: bool) -> list[dict[str, object]]:
        moved = has_moved and ITEMS in self._moved
        judge_moved = has_moved and JUDGE in self._moved
        topics = [0.5, 0.3, 0.15, 0.05] if not moved else [0.3, 0.2, 0.2, 0.3]
        return [
            {
                "question": int(self._rng.lognormal(4 + 4 * self._size * moved, 0.5)),
                "responses": int(self._rng.lognormal(6 + 4 * self._size * moved, 0.4)),
                "topic": str(self._rng.choice(4, p=topics)),
                "language": "en",
                "certainty": float(
                    min(100, self._rng.uniform(55, 95) + 50 * self._size * judge_moved)
                ),
            }
            for _ in range(n)
        ]


def watched(
    rng: np.random.Generator, counts: Counts, *, moved: frozenset[str], looks: int, size: float
) -> None:
    """A set of 200 items, frozen with 3 rounds and 40 annotators, and looked at once a day."""
    world = World(rng, moved, size)
    at_once = [world.again(has_moved=False) for _ in range(AT_ONCE)]
    baseline = Baseline(
        choices=[changed for choices, _, _ in at_once for changed in choices],
        certainties=[changed for _, certainties, _ in at_once for changed in certainties],
        people=world.annotators(FIRST, has_moved=False),
        items=world.items(100, has_moved=False),
    )
    numbers = []
    for look in range(looks):
        has_moved = bool(moved) and look >= MOVES_AT
        choices, certainties, higher = world.again(has_moved=has_moved)
        people = world.annotators(1, has_moved=has_moved)
        items = world.items(2, has_moved=has_moved)
        numbers.append(LookNumbers(choices, certainties, people, items, higher))
    found = evidence(baseline, numbers, seed=str(rng.integers(2**32)))
    shown = {kind: one.shown_at for kind, one in found.items()}
    is_wrong = [shown[kind] is not None for kind in KINDS if kind not in moved]
    # A move that is claimed before it happens is a false claim too.
    is_wrong += [(shown[kind] or MOVES_AT + 1) <= MOVES_AT for kind in moved]
    counts.happened("something is shown that did not move", any(is_wrong))
    for kind in KINDS:
        counts.happened(f"{kind} moved", shown[kind] is not None)


def interval(rng: np.random.Generator, counts: Counts, *, shown: float) -> None:
    """Daily intervals of a share over a year, of 100 items with chances of their own."""
    chances = rng.beta(2 * shown, 2 * (1 - shown), 100)
    looks = [(rng.random(100) < chances).astype(np.float64) for _ in range(365)]
    truth = float(chances.mean())
    counts.happened("covers at every look", all(a <= truth <= b for a, b in mean_sequence(looks)))


def _worlds() -> list[tuple[str, frozenset[str], int, float]]:
    one = [
        (f"{kind} moved by {size:g}", frozenset({kind}), 90, size)
        for kind in KINDS
        for size in (0.05, 0.1, 0.2)
    ]
    both = [
        (f"judge and items moved by {size:g}", frozenset({JUDGE, ITEMS}), 90, size)
        for size in (0.1, 0.2)
    ]
    return [("nothing moved", frozenset(), 365, 0.0), *one, *both]


CHECKS = (
    *(
        MethodCheck(
            name,
            f"A set of {ITEMS_OF_SET} items asked {AT_ONCE} times at once, {looks} daily looks"
            + (f", a move before look {MOVES_AT + 1}." if moved else "."),
            partial(watched, moved=moved, looks=looks, size=size),
            {
                "something is shown that did not move": errs(),
                **{f"{kind} moved": compared("mean", float(kind in moved)) for kind in KINDS},
            },
            quick=60,
            full=1000,
        )
        for name, moved, looks, size in _worlds()
    ),
    *(
        MethodCheck(
            f"interval of a share of {share:g}",
            "100 items with chances of their own, 365 daily looks.",
            partial(interval, shown=share),
            {"covers at every look": covers(0.95, least=0.95)},
            quick=60,
            full=1000,
        )
        for share in (0.05, 0.3)
    ),
)

WATCHED = Family("watching", CHECKS)
