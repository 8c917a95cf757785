"""Promises about adjudicated labels, checked on experts and personas who err alike."""

from functools import partial

import numpy as np

from analysis.stats import Sharing, Votes
from analysis.stats.comparison.general_difference import general_difference
from benchmarks.simulations.promises import Counts, Family, MethodCheck, errs
from extras.label_models.adjudication_chapter import gaps_of, mean_by_item

PEOPLE, ANSWERS, ERRORS = 30, 3, 0.3


def of_two_truths(rng: np.random.Generator, counts: Counts, *, items: int) -> None:
    """Experts and own answers differ from what people aim at equally often."""
    item = np.repeat(np.arange(items), ANSWERS)
    person = np.argsort(rng.random((items, PEOPLE)), axis=1)[:, :ANSWERS].ravel()
    latent = rng.integers(0, 2, items)
    own, label = (np.where(rng.random(items) < ERRORS, 1 - latent, latent) for _ in range(2))
    skill = rng.beta(8, 4, PEOPLE)[person]
    choice = np.where(rng.random(item.size) < skill, latent[item], 1 - latent[item])
    gaps = mean_by_item(gaps_of(choice, label[item], own[item]), item, items)
    votes = Votes.from_long(item, person, choice, n_options=2)
    sharing = Sharing.of_items(items, {"persona": np.arange(items) // 4}, votes)
    found = general_difference(gaps, sharing)
    counts.covered("interval", found.interval, 0.0)
    counts.happened("says that people are nearer to one", (found.p or 1.0) <= 0.05)


TWO_TRUTHS = Family(
    "adjudication",
    tuple(
        MethodCheck(
            f"{items} decided items",
            "Three of 30 people answer each; experts and own answers err in 30 % of items.",
            partial(of_two_truths, items=items),
            {"says that people are nearer to one": errs(0.05)},
            quick=60,
            full=1000,
        )
        for items in (40, 200)
    ),
)
