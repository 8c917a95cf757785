"""Own answers that people gave twice: the ceiling, and accuracy as a share of it."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.promises import Counts, MethodCheck, compared, covers, is_on_average
from analysis.stats import Sharing, retest_of, share_of_retest

ITEMS = 20


@dataclass(frozen=True)
class Design:
    """People who answer `ITEMS` items and some of them again, and others who predict the first.

    `slip` is how often an answer is not what somebody means, `accuracy` how often a prediction is
    what they mean. Slips, accuracies and predictors differ by the standard deviations.
    """

    people: int = 40
    again: int = 10
    slip: float = 0.1
    accuracy: float = 0.75
    sd_slip: float = 0.0
    sd_accuracy: float = 0.0
    predictors: int = 0
    sd_predictor: float = 0.0


def twice(rng: np.random.Generator, counts: Counts, *, design: Design) -> None:
    n = design.people
    person, question = np.repeat(np.arange(n), ITEMS), np.tile(np.arange(ITEMS), n)
    slip = _around(rng, design.slip, design.sd_slip, n)
    first, second = rng.random((2, person.size)) < slip[person]
    kinds = {"persona": person, "question": question}
    chance = _around(rng, design.accuracy, design.sd_accuracy, n)[person]
    if design.predictors:
        annotator = rng.permutation(person.size) % design.predictors
        chance = chance + rng.normal(0, design.sd_predictor, design.predictors)[annotator]
        predicted = Sharing.of_items(person.size, {**kinds, "annotator": annotator})
    else:
        predicted = Sharing.of_items(person.size, kinds)
    right = (rng.random(person.size) < chance) != first

    asked = np.sort(rng.random((n, ITEMS)).argsort(axis=1)[:, : design.again], axis=1)
    rows = (np.arange(n)[:, None] * ITEMS + asked).ravel()
    same, who = (first == second)[rows], person[rows]
    sharing = Sharing.of_items(rows.size, {"persona": who, "question": question[rows]})
    found = retest_of(same, sharing)
    share = share_of_retest(right, person, predicted, same, who, sharing)

    repeated = design.slip**2 + (1 - design.slip) ** 2 + 2 * design.sd_slip**2
    counts.covered("agreement with oneself", found.agreement.interval, repeated)
    counts.covered("ceiling", found.ceiling.interval, 1 - design.slip)
    counts.measured("ceiling on average", found.ceiling.value)
    counts.covered("share of the ceiling", share.interval, 2 * design.accuracy - 1)


def _around(rng: np.random.Generator, mean: float, sd: float, n: int) -> np.ndarray:
    """Values with this mean and standard deviation: half of them above, half below, at random."""
    return mean + sd * rng.choice([-1.0, 1.0], n)


def _check(name: str, words: str, design: Design, **least: float) -> MethodCheck:
    promises = {
        "agreement with oneself": covers(least=least.get("agreement", 0.93)),
        "ceiling": covers(least=least.get("ceiling", 0.93)),
        "ceiling on average": is_on_average(1 - design.slip, within=0.01),
        "share of the ceiling": covers(least=least.get("share", 0.93)),
    }
    if design.sd_slip:
        promises |= {
            "ceiling": compared(),
            "ceiling on average": compared("mean", 1 - design.slip),
            "share of the ceiling": compared(),
        }
    once = partial(twice, design=design)
    return MethodCheck(name, words, once, promises, quick=150, full=4000)


CHECKS = (
    _check(
        "slips of 10 %, predictions right on 75 %",
        "40 people × 20 items, half of them twice; everybody slips alike.",
        Design(),
    ),
    _check(
        "slips of 20 %, predictions right on 90 %",
        "40 people × 20 items, half of them twice; everybody slips alike.",
        Design(slip=0.2, accuracy=0.9),
    ),
    _check(
        "a fifth of the items again",
        "40 people × 20 items, four of them twice; everybody slips alike.",
        Design(again=4),
    ),
    _check(
        "twelve people",
        "12 people × 20 items, all of them twice; everybody slips alike.",
        Design(people=12, again=ITEMS),
    ),
    _check(
        "people who are easier or harder to predict",
        "40 people × 20 items, half of them twice; accuracy .6 or .9 by person.",
        Design(sd_accuracy=0.15),
    ),
    _check(
        "predictors who differ",
        "The same, where each of 20 annotators predicts 40 answers; SD .1 of their accuracy.",
        Design(predictors=20, sd_predictor=0.1),
    ),
    _check(
        "people who slip at different rates",
        "40 people × 20 items, half of them twice; half never slip, half in 20 %.",
        Design(sd_slip=0.1),
    ),
)
