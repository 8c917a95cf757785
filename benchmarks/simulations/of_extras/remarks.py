"""Promises about second choices and guesses, checked on people who differ in both."""

from functools import partial

import numpy as np

from analysis.stats import Sharing, Votes
from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.core.results import FloatArray, IntArray
from benchmarks.simulations.promises import Counts, Family, MethodCheck, errs
from extras.remarks.measures import above, difference_by_item, surprisingly_popular, verdict_scores

PEOPLE, ANSWERS = 30, 3


def asked(rng: np.random.Generator, items: int) -> tuple[IntArray, IntArray]:
    """Item and person of every answer: three of the people answer each item."""
    person = np.argsort(rng.random((items, PEOPLE)), axis=1)[:, :ANSWERS].ravel()
    return np.repeat(np.arange(items), ANSWERS), person


def tell(
    counts: Counts, gaps: FloatArray, item: IntArray, person: IntArray, choice: IntArray
) -> None:
    items = gaps.size
    votes = Votes.from_long(item, person, choice, n_options=2)
    sharing = Sharing.of_items(items, {"persona": np.arange(items) // 4}, votes)
    counts.happened("claims a difference", (general_difference(gaps, sharing).p or 1.0) <= 0.05)


def of_second_choices(rng: np.random.Generator, counts: Counts, *, items: int) -> None:
    """Hard items have more errors and more second choices; at one item they do not go together."""
    item, person = asked(rng, items)
    hard, skill = rng.beta(2, 4, items), rng.normal(0, 0.1, PEOPLE)
    right = rng.random(item.size) > np.clip(hard[item] + skill[person], 0.02, 0.98)
    ticks = 0.2 + 0.4 * hard[item] + rng.normal(0, 0.12, PEOPLE)[person]
    either = (rng.random(item.size) < ticks).astype(float)
    score = right.astype(np.int64)
    tell(counts, difference_by_item(item, score, either, items), item, person, score)


def of_popular(rng: np.random.Generator, counts: Counts, *, items: int) -> None:
    """Neither verdict has anything to do with the right answer."""
    item, person = asked(rng, items)
    first = rng.beta(2, 2, items)
    choice = (rng.random(item.size) > first[item]).astype(np.int64)
    share = np.where(choice == 0, first[item], 1 - first[item])
    guess = share + rng.normal(0, 0.15, PEOPLE)[person] + rng.normal(0, 0.1, item.size)
    popular, majority = surprisingly_popular(item, choice, np.clip(guess, 0, 1), items)
    truth = rng.integers(0, 2, items)
    gaps = verdict_scores(popular, truth) - verdict_scores(majority, truth)
    tell(counts, gaps, item, person, choice)


def of_guesses(rng: np.random.Generator, counts: Counts, *, items: int) -> None:
    """Guesses lean to one side or the other, and are right on average."""
    item, person = asked(rng, items)
    first = rng.beta(2, 2, items)
    choice = (rng.random(item.size) > first[item]).astype(np.int64)
    share = np.where(choice == 0, first[item], 1 - first[item])
    lean = rng.normal(0, 0.1, PEOPLE)
    guess = share + (lean - lean.mean())[person] + rng.normal(0, 0.1, item.size)
    tell(counts, above(item, choice, guess, items), item, person, choice)


REMARKS = Family(
    "remarks",
    tuple(
        MethodCheck(
            f"{name}, {items} items",
            f"{design} Three of 30 people answer each item.",
            partial(once, items=items),
            {"claims a difference": errs(0.05, most=0.06)},
            quick=60,
            full=1000,
        )
        for name, once, design in (
            ("second choices of wrong answers", of_second_choices, "No relation at one item."),
            ("surprisingly popular responses", of_popular, "Right answers at random."),
            ("guesses about others", of_guesses, "Right on average."),
        )
        for items in (100, 300)
    ),
)
