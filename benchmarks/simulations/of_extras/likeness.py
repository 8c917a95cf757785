"""Promises of the model of a shared guess, and of flags of annotators, checked by simulation."""

from itertools import product

import numpy as np

from analysis.stats import Votes
from analysis.stats.core.results import IntArray
from benchmarks.simulations.promises import Counts, Family, MethodCheck, covers, errs
from extras.likeness.stats import shared_errors, shared_guess, stands_out
from extras.likeness.stats.shared_errors import (
    FALSE_FLAGS_PER_1000,
    FALSE_FLAGS_PER_1000_WHEN_HURRIED,
    LIMIT,
    LIMIT_WHEN_HURRIED,
)


def people_and_model(
    rng: np.random.Generator,
    n: int,
    *,
    c: float,
    r: float,
    when_right: float,
    when_wrong: float,
    k: int = 3,
) -> tuple[Votes, IntArray, IntArray]:
    """Votes, model and truth when k people follow a shared guess with probability c.

    The guess is right with probability r; the model follows it with `when_right` or `when_wrong`.
    Option 0 is always right.
    """
    guess = (rng.random(n) >= r).astype(np.int64)
    people = np.where(rng.random((n, k)) < c, guess[:, None], 1 - guess[:, None])
    follows = rng.random(n) < np.where(guess == 0, when_right, when_wrong)
    return (
        Votes.from_matrix(people),
        np.where(follows, guess, 1 - guess),
        np.zeros(n, dtype=np.int64),
    )


def guess(rng: np.random.Generator, counts: Counts) -> None:
    data = people_and_model(rng, 300, c=0.85, r=0.65, when_right=0.8, when_wrong=0.5)
    found = shared_guess(*data, n_draws=300, rng=rng)
    counts.covered("model follows a right guess", found.model_follows_right.interval, 0.8)
    counts.covered("model follows a wrong guess", found.model_follows_wrong.interval, 0.5)


GUESSES = Family(
    "shared-guess",
    (
        MethodCheck(
            "the guess that people share",
            "Three people follow a shared guess with .85, a model with .8 if it is right, else .5.",
            guess,
            {
                "model follows a right guess": covers(least=0.92),
                "model follows a wrong guess": covers(least=0.92),
            },
            quick=100,
            full=2000,
        ),
    ),
)


def careful_errors(
    rng: np.random.Generator,
    *,
    item_sd: float,
    person_sd: float,
    n_items: int = 300,
    n_people: int = 30,
) -> tuple[IntArray, list[IntArray]]:
    """Errors of careful people, three per item, and of three judges with similar errors.

    The first has shape (items, people): 1 wrong, 0 right, -1 not asked.
    """
    order = rng.permutation(n_items)
    wrong = np.full((n_items, n_people), -1)
    easy = rng.normal(0.5, item_sd, n_items)
    able = rng.normal(0, person_sd, n_people)
    for place, item in enumerate(order):
        for shift, start in ((0, 0), (1, 1), (1, 12)):
            person = (place + shift * (place // n_people + start)) % n_people
            wrong[item, person] = rng.random() > 1 / (1 + np.exp(-easy[item] - able[person]))
    first = rng.random(n_items) > 1 / (1 + np.exp(-easy - 0.2))
    judges = [np.where(rng.random(n_items) < flips, ~first, first) for flips in (0, 0.25, 0.25)]
    return wrong, [judge.astype(np.int64) for judge in judges]


SPREADS = list(product((0.3, 1.0, 2.0), (0.0, 0.6, 1.0)))


def probabilities(wrong: IntArray, judges: list[IntArray]) -> list[float]:
    """The corrected probability of every person."""
    by_judge = [shared_errors(wrong, judge) for judge in judges]
    return [
        stands_out([r.probability for r in row if r.probability is not None], None)[0] or 1.0
        for row in zip(*by_judge, strict=True)
    ]


def careful(rng: np.random.Generator, counts: Counts) -> None:
    item_sd, person_sd = SPREADS[rng.integers(len(SPREADS))]
    for found in probabilities(*careful_errors(rng, item_sd=item_sd, person_sd=person_sd)):
        counts.happened("careful people stand out", found < LIMIT)
        name = "careful people stand out who went faster than people read"
        counts.happened(name, found < LIMIT_WHEN_HURRIED)


FLAGS = Family(
    "flags",
    (
        MethodCheck(
            "careful people",
            "300 items, 30 people of varying ability, three judges with similar errors, no copies.",
            careful,
            {
                "careful people stand out": errs(FALSE_FLAGS_PER_1000 / 1000),
                "careful people stand out who went faster than people read": errs(
                    FALSE_FLAGS_PER_1000_WHEN_HURRIED / 1000
                ),
            },
            quick=20,
            full=400,
        ),
    ),
)
