"""Promises of the model of a shared guess, checked by simulation."""

import numpy as np

from analysis.promises import Counts, Family, MethodCheck, covers
from analysis.stats import Votes
from analysis.stats.core.results import IntArray
from extras.likeness.stats import shared_guess


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
