"""Simulated studies with and without a planted rule: what is found, and what is not."""

from functools import partial

import numpy as np

from analysis.stats import SharedKind, Sharing, Votes
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.results import IntArray
from benchmarks.simulations.promises import (
    Counts,
    Family,
    MethodCheck,
    Promise,
    compared,
    covers,
    errs,
)
from extras.rules.stats import follow_rules
from extras.rules.stats.following import PROPOSED_WEIGHT

ITEMS, EACH, RULES, PERSONAS, PEOPLE = 500, 3, 14, 62, 50
PROPOSED = 6  # of these rules, by a judge
FAVOURS = 0.4  # a rule favours a response for this share of the items
EFFECT = 0.15
PLANTED = "the planted rule is found"


def made_study(
    rng: np.random.Generator, *, right: tuple[float, float], effect: float
) -> tuple[Votes, IntArray, IntArray, IntArray]:
    """Answers, verdicts, what rules favour, and personas.

    People and judge find one response better, and choose it with the shares in `right`. In twice
    the `effect` of the items where the first rule favours a response, a person chooses that one.
    People have rules of their own, which are none on average.
    """
    n, each = ITEMS, EACH
    favoured = np.where(rng.random((n, RULES)) < FAVOURS, rng.integers(0, 2, (n, RULES)), -1)
    better = rng.integers(0, 2, n)
    who = np.argsort(rng.random((n, PEOPLE)), axis=1)[:, :each]
    chosen = np.where(rng.random((n, each)) < right[0], better[:, None], 1 - better[:, None])
    taste, rule = rng.normal(0, 0.1, (PEOPLE, RULES))[who], rng.integers(0, RULES, (n, each))
    lean = np.take_along_axis(taste, rule[:, :, None], axis=2)[:, :, 0]
    mark = np.take_along_axis(favoured, rule, axis=1)
    moved = (mark >= 0) & (rng.random((n, each)) < 2 * np.abs(lean))
    chosen = np.where(moved, np.where(lean > 0, mark, 1 - mark), chosen)
    follows = (favoured[:, :1] >= 0) & (rng.random((n, each)) < 2 * effect)
    chosen = np.where(follows, favoured[:, :1], chosen)
    answers = np.full((n, PEOPLE), -1)
    np.put_along_axis(answers, who, chosen, axis=1)
    verdicts = np.where(rng.random(n) < right[1], better, 1 - better)
    return Votes.from_matrix(answers), verdicts, favoured, np.arange(n) % PERSONAS


def tested(
    rng: np.random.Generator,
    counts: Counts,
    *,
    right: tuple[float, float],
    effect: float,
    is_proposed: bool,
) -> None:
    """Test eight features on all items, and six proposed rules on half of the personas."""
    votes, judge, favoured, persona = made_study(rng, right=right, effect=effect)
    rows, of = np.arange(votes.n), {"item": votes.item, "annotator": votes.annotator}
    of["persona"] = persona[votes.item]
    kinds = {name: SharedKind.of(rows, codes, votes.n) for name, codes in of.items()}
    sharing = Sharing.of(votes.n, kinds)
    marks = favoured.T.copy()
    proposed = np.arange(RULES) < PROPOSED if is_proposed else np.arange(RULES) >= RULES - PROPOSED
    marks[np.ix_(proposed, persona % 2 == 0)] = -1
    found = follow_rules(marks, votes.item, votes.choice, judge, sharing)
    weights = np.where(proposed, PROPOSED_WEIGHT, 1.0).tolist()
    hits = [p is not None and p <= 0.05 for p in holm([rule.p for rule in found], weights)]
    counts.happened(PLANTED, hits[0])
    counts.happened("another rule is found", any(hits[bool(effect) :]))
    counts.covered("interval of the difference", found[0].interval, effect)


RULES_FOUND = Family(
    "rules",
    tuple(
        MethodCheck(
            name,
            f"500 items of {PERSONAS} personas, three answers each of {PEOPLE} people; a rule has "
            "a response for two items of five. Eight features are tested on all items, and six "
            "proposed rules on half of them.",
            partial(tested, right=right, effect=effect, is_proposed=is_proposed),
            promises | {"another rule is found": errs(), "interval of the difference": covers()},
            quick=60,
            full=1000,
        )
        for name, right, effect, is_proposed, promises in (
            ("no rule", (0.7, 0.75), 0.0, False, {}),
            (
                "people follow one feature 15 points more often than the judge, on 200 items",
                (0.85, 0.9),
                EFFECT,
                False,
                {PLANTED: Promise("coverage", 0.8, least=0.8)},
            ),
            (
                "the same, where both are often wrong",
                (0.7, 0.75),
                EFFECT,
                False,
                {PLANTED: compared("coverage", 0.8)},
            ),
            (
                "people follow one proposed rule 15 points more often, on 100 items",
                (0.85, 0.9),
                EFFECT,
                True,
                {PLANTED: compared("coverage", 0.8)},
            ),
        )
    ),
)
