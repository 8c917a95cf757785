"""Annotators who behave badly on purpose, so that quality flags have known answers.

A test fixture: `make demo` has thirty careful annotators. Anyone who arrives after the seats are
filled does surplus work. Everybody except the inattentive one reads attention checks.
"""

import json
from dataclasses import dataclass
from statistics import NormalDist

from annotation.machine_signs import COUNTED
from demo.judges import Judges
from demo.truth import ANNOTATORS, Answer, World, other, uniform

DROP_OUT_AT = 12  # the item at which the drop-out returns the place
REFILL = ANNOTATORS + 1  # takes the seats that the drop-out gave back
EXTRA_CERTAINTY = 25
BEHAVIOURS = {
    **dict.fromkeys(range(1, 25), "careful"),
    25: "overconfident",
    26: "overconfident",
    27: "straight_liner",
    28: "speeder",
    29: "inattentive",
    30: "drop_out",
    REFILL: "careful",
    32: "assisted",
    33: "assisted",
}
ASSISTANT = "demo-steady"  # the model that the assisted annotators ask and follow
EXPECTED_FLAGS = {
    "straight_line": [27],
    "speed": [28],
    "attention": [29],
    "returned": [30],
    "assistant": [32, 33],
}
EXCLUDED = (27, 28, 29)


@dataclass(frozen=True)
class Seat:
    annotator: int
    item: str
    position: int  # from 1, in the order that this annotator sees the items
    shown_first: str  # r1 or r2


def seats(world: World, *, returned: bool = True) -> list[Seat]:
    """The plan with the drop-out's seats given to the annotator who refills them."""
    position: dict[int, int] = {}
    plan = []
    for annotator, item in world.seating():
        position[annotator] = position.get(annotator, 0) + 1
        number = REFILL if returned and BEHAVIOURS[annotator] == "drop_out" else annotator
        first = "r1" if uniform(world.seed, "first", number, item) < 0.5 else "r2"
        plan.append(Seat(number, item, position[annotator], first))
    return plan


def planted_answer(world: World, annotator: int, item: str, shown_first: str) -> Answer:
    """The answer of `annotator` with their planted behaviour."""
    answer = world.answer(annotator, item, shown_first)
    behaviour = BEHAVIOURS[annotator]
    if behaviour == "overconfident" and answer.certainty is not None:
        certainty = min(100, answer.certainty + EXTRA_CERTAINTY)
        return Answer(annotator, item, answer.choice, certainty)
    if behaviour == "straight_liner":
        return Answer(annotator, item, shown_first, answer.certainty)
    if behaviour == "assisted":
        choice = Judges(world).decide(ASSISTANT, world.by_id[item])
        return Answer(annotator, item, choice, answer.certainty)
    if behaviour in ("speeder", "inattentive"):
        coin = uniform(world.seed, "coin", annotator, item) < 0.5
        choice = shown_first if coin else other(shown_first)
        return Answer(annotator, item, choice, answer.certainty)
    return answer


def planted_answers(world: World) -> list[Answer]:
    """All 900 answers that count: three per item, the drop-out's seats refilled."""
    return [
        planted_answer(world, seat.annotator, seat.item, seat.shown_first) for seat in seats(world)
    ]


def signals(world: World, annotator: int, item: str, *, phone: bool, planted: bool) -> str:
    """What the page would count: a hand, and for assisted annotators copies and absences."""
    counts = dict.fromkeys(COUNTED, 0)
    u = uniform(world.seed, "signals", annotator, item)
    hand = {"touches": 5} if phone else {"presses": 3, "moves": 30 + round(150 * u), "keys": 2}
    if planted and BEHAVIOURS[annotator] == "assisted":
        hand |= {"copies": 1, "left": 1, "away_ms": 4000 + round(4000 * u)}
    return json.dumps(counts | hand)


def active_ms(world: World, annotator: int, item: str, *, planted: bool = True) -> int:
    """Time spent on an item: log-normal, with a median of 16 to 36 s that depends on the annotator.

    A speeder takes 1.5 to 3 s; an annotator who gives the texts to a model and copies its answer
    takes 9 to 14 s.
    """
    u = uniform(world.seed, "time", annotator, item)
    behaviour = BEHAVIOURS.get(annotator) if planted else None
    if behaviour == "speeder":
        return round(1500 + 1500 * u)
    if behaviour == "assisted":
        return round(9000 + 5000 * u)
    pace = 24_000 * 1.5 ** (2 * uniform(world.seed, "pace", annotator) - 1)
    return round(pace * 2.718281828 ** NormalDist(0, 0.5).inv_cdf(max(u, 2**-64)))
