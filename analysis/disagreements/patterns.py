"""How the answers to an item relate to each other, and the lists that a page can show."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntFlag, auto

from analysis.data.items.comparisons import ItemVerdicts

STEP = 5  # Certainties are counted in steps of five: 1 to 5, 6 to 10, …
STEPS = 100 // STEP
NO_CERTAINTY = -1


class PatternFact(IntFlag):
    """Facts about the answers to an item; stored as one number."""

    PEOPLE_RIGHT = auto()
    PEOPLE_WRONG = auto()
    JUDGE_RIGHT = auto()
    JUDGE_WRONG = auto()
    DIFFER = auto()
    SPLIT = auto()
    JUDGE_CERTAIN = auto()
    NO_VERDICT = auto()


@dataclass(frozen=True)
class Listing:
    """A list of items: its name on the page, and which items belong to it."""

    label: str
    includes: Callable[[PatternFact], bool]


LISTINGS: dict[str, Listing] = {
    "all": Listing("All items", lambda fact: True),
    "disagree": Listing("Annotators and judge disagree", lambda fact: PatternFact.DIFFER in fact),
    "judge-wrong": Listing(
        "Annotators right, judge wrong",
        lambda fact: PatternFact.PEOPLE_RIGHT | PatternFact.JUDGE_WRONG in fact,
    ),
    "annotators-wrong": Listing(
        "Judge right, annotators wrong",
        lambda fact: PatternFact.PEOPLE_WRONG | PatternFact.JUDGE_RIGHT in fact,
    ),
    "both-wrong": Listing(
        "Both wrong", lambda fact: PatternFact.PEOPLE_WRONG | PatternFact.JUDGE_WRONG in fact
    ),
    "certain-wrong": Listing(
        "Judge certain and wrong",
        lambda fact: PatternFact.JUDGE_CERTAIN | PatternFact.JUDGE_WRONG in fact,
    ),
    "split": Listing("Annotators split", lambda fact: PatternFact.SPLIT in fact),
    "no-verdict": Listing("No verdict of the judge", lambda fact: PatternFact.NO_VERDICT in fact),
}
DEFAULT = "disagree"


def facts_of(item: ItemVerdicts, *, threshold: int) -> PatternFact:
    """What is known about an item; a judge with at least `threshold` is certain."""
    people, judge = item.people or {}, item.judge or {}
    fact = PatternFact(0)
    if (right := people.get("correct")) is not None:
        fact |= PatternFact.PEOPLE_RIGHT if right else PatternFact.PEOPLE_WRONG
    if (right := judge.get("correct")) is not None:
        fact |= PatternFact.JUDGE_RIGHT if right else PatternFact.JUDGE_WRONG
    given, verdict = people.get("verdict"), judge.get("verdict")
    if given and verdict and given != verdict:
        fact |= PatternFact.DIFFER
    if people and (not given or people["share"] < 1):
        fact |= PatternFact.SPLIT
    if (judge.get("certainty") or 0) >= threshold:
        fact |= PatternFact.JUDGE_CERTAIN
    if judge and not verdict:
        fact |= PatternFact.NO_VERDICT
    return fact


def step_of(certainty: float | None) -> int:
    """The step of a certainty, from 0; a fraction belongs to the whole number above it.

    >>> step_of(1), step_of(5), step_of(5.5), step_of(100), step_of(None)
    (0, 0, 1, 19, -1)
    """
    return NO_CERTAINTY if certainty is None else (math.ceil(certainty) - 1) // STEP
