"""Promises about grades, checked on people who use scales in their own ways."""

from functools import cache, partial

import numpy as np

from analysis.stats import SharedKind, Sharing
from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.comparison.level_shift import level_shift
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.shared_variance import ANNOTATOR
from benchmarks.simulations.promises import Counts, Family, MethodCheck, covers, errs
from extras.graded.agreement import choice_of_others, within_people

ITEMS, ANSWERS, EACH, PERSONAS = 120, 3, 15, 30  # EACH: answers of one person


def design(rng: np.random.Generator, items: int) -> tuple[IntArray, IntArray, IntArray]:
    """Item, person and persona of every answer: three of the people answer each item."""
    people = items * ANSWERS // EACH
    who = np.argsort(rng.random((items, people)), axis=1)[:, :ANSWERS]
    persona = rng.integers(0, PERSONAS, items)
    item = np.repeat(np.arange(items), ANSWERS)
    return item, who.ravel(), persona[item]


def related(
    rng: np.random.Generator, items: int, relation: float
) -> tuple[FloatArray, FloatArray, IntArray, Sharing]:
    """Strengths and certainties; items, personas and people differ in both, independently."""
    item, person, persona = design(rng, items)
    parts = [item, person, persona]
    effects = [
        sum(
            rng.normal(0, size, each.max() + 1)[each]
            for each, size in zip(parts, (0.5, 0.8, 0.4), strict=True)
        )
        for _ in range(2)
    ]
    own = rng.normal(0, 1, item.size)
    strength = np.clip(np.rint(2 + effects[0] + own), 1, 3)
    certainty = 60 + 15 * (effects[1] + relation * own + rng.normal(0, 1, item.size))
    codes = {"item": item, ANNOTATOR: person, "persona": persona}
    rows = np.arange(item.size)
    kinds = {name: SharedKind.of(rows, each, item.size) for name, each in codes.items()}
    shown = np.clip(np.rint(certainty), 1, 100)
    return strength, shown, person, Sharing.of(item.size, kinds)


@cache
def true_relation(relation: float) -> float:
    """The rank correlation within people of very many answers."""
    rng = np.random.default_rng(0)
    found = [within_people(*related(rng, 40 * ITEMS, relation)).value or 0.0 for _ in range(6)]
    return float(np.mean(found))


def of_strength(rng: np.random.Generator, counts: Counts, *, relation: float) -> None:
    found = within_people(*related(rng, ITEMS, relation))
    counts.covered("interval", found.interval, true_relation(relation) if relation else 0.0)
    if found.p is not None:
        counts.happened("says that there is a relation", found.p <= 0.05)


def of_scores(rng: np.random.Generator, counts: Counts, *, higher: float) -> None:
    """Scores of a judge and of people follow the item; the judge's are higher by `higher`."""
    item, person, persona = design(rng, ITEMS)
    of_persona = rng.normal(0, 0.5, PERSONAS)[persona]
    base = 3 + rng.normal(0, 0.4, ITEMS)[item] + of_persona
    lenient = rng.normal(0, 0.5, person.max() + 1)[person]
    people = base + lenient + rng.normal(0, 0.7, item.size)
    shift = rng.normal(0, 0.3, PERSONAS)[persona[::ANSWERS]]
    judge = base[::ANSWERS] + shift + 4 * higher + rng.normal(0, 0.6, ITEMS)
    rows = np.arange(item.size)
    voters = SharedKind.of(item[rows], person, ITEMS)
    kinds = {
        ANNOTATOR: voters,
        "persona": SharedKind.of(np.arange(ITEMS), persona[::ANSWERS], ITEMS),
    }
    sharing = Sharing.of(ITEMS, kinds)
    found = level_shift(judge / 4, item, person, people / 4, sharing)
    counts.covered("interval", found.interval, higher)
    if found.p is not None:
        counts.happened("says that the levels differ", found.p <= 0.05)


def of_one_annotator(rng: np.random.Generator, counts: Counts) -> None:
    """A judge that predicts one annotator as two others who agree do; people differ in care."""
    item, person, persona = design(rng, ITEMS)
    leaning = rng.normal(0, 1.2, ITEMS) + rng.normal(0, 0.8, PERSONAS)[persona[::ANSWERS]]
    care = rng.lognormal(0, 0.8, person.max() + 1)
    for_one = 1 / (1 + np.exp(-leaning[item] * care[person]))
    choice = (rng.random(item.size) < for_one).astype(np.int64)
    # Two people of the same population, drawn anew until they agree.
    judge = np.full(ITEMS, -1)
    while (judge < 0).any():
        chance = 1 / (1 + np.exp(-leaning[:, None] * rng.choice(care, (ITEMS, 2))))
        drawn = (rng.random((ITEMS, 2)) < chance).astype(np.int64)
        agree = (judge < 0) & (drawn[:, 0] == drawn[:, 1])
        judge[agree] = drawn[agree, 0]
    tally = np.zeros((ITEMS, 2), dtype=np.int64)
    np.add.at(tally, (item, choice), 1)
    others = choice_of_others(item, choice, tally)
    hits = (judge[item] == choice).astype(np.float64) - (others == choice)
    rows = np.arange(item.size)
    codes = {"item": item, ANNOTATOR: person, "persona": persona}
    kinds = {name: SharedKind.of(rows, each, item.size) for name, each in codes.items()}
    found = general_difference(np.where(others >= 0, hits, np.nan), Sharing.of(item.size, kinds))
    if found.p is not None:
        counts.covered("interval", found.interval, 0.0)
        counts.happened("says that they differ", found.p <= 0.05)


_DESIGN = (
    "120 items about 30 personas; three of 24 people answer each, and use scales differently. "
)
GRADED = Family(
    "graded",
    (
        MethodCheck(
            "strength and certainty, unrelated",
            _DESIGN,
            partial(of_strength, relation=0.0),
            {"interval": covers(), "says that there is a relation": errs(0.05, most=0.065)},
            quick=60,
            full=2000,
        ),
        MethodCheck(
            "strength and certainty, related",
            _DESIGN,
            partial(of_strength, relation=0.5),
            {"interval": covers()},
            quick=60,
            full=2000,
        ),
        MethodCheck(
            "scores at the level of people",
            _DESIGN,
            partial(of_scores, higher=0.0),
            {"interval": covers(), "says that the levels differ": errs(0.05, most=0.06)},
            quick=60,
            full=2000,
        ),
        MethodCheck(
            "scores ten points higher",
            _DESIGN,
            partial(of_scores, higher=0.1),
            {"interval": covers()},
            quick=60,
            full=2000,
        ),
        MethodCheck(
            "one annotator predicted as well as by others",
            _DESIGN,
            of_one_annotator,
            {"interval": covers(), "says that they differ": errs(0.05, most=0.065)},
            quick=60,
            full=2000,
        ),
    ),
)
