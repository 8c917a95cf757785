"""Power that is planned for, and comparisons that are looked at while people answer."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from analysis.promises import Counts, MethodCheck, errs, is_on_average
from analysis.stats import (
    Effects,
    StudyModel,
    adjusted_states,
    confidence_sequence,
    general_differences,
    random_layout,
    simulate_power,
)
from analysis.stats.core.results import FloatArray

from ..worlds.answers import logistic
from ..worlds.studies import (
    IN_COMMON,
    SD_ITEM,
    SD_PERSON,
    Design,
    K,
    batch_of,
    truth_of,
)

BATCH = 50
PLANNED = 4000  # studies of the planner, for a Monte Carlo error of .8 points
WITHIN = 0.02
PER_ANNOTATOR = 30


@cache
def planned_power(design: Design) -> float:
    """The planner's chance that a run is called better."""
    each = np.arange(design.n_items)
    effects = Effects(
        item=SD_ITEM, annotator=SD_PERSON, persona=design.sd, question=design.sd, overlap=IN_COMMON
    )
    rng = np.random.default_rng(12)
    layout = random_layout(
        each % design.personas,
        each // design.personas % design.questions,
        n_items=design.n_items,
        answers=K,
        per_annotator=PER_ANNOTATOR,
        rng=rng,
    )
    model = StudyModel(truth_of(design).single, K, effects)
    found = simulate_power(model, layout, (design.target,), n_draws=PLANNED, rng=rng)
    return found.outcomes[0].chances["better"].value


def power(rng: np.random.Generator, counts: Counts, *, design: Design) -> None:
    """Studies of a world of its own, compared by the functions of the report."""
    batch = batch_of(design, BATCH, rng)
    gaps = general_differences(batch.judges[:, 0] - batch.majority, batch.items)
    for found in gaps:
        [adjusted] = adjusted_states([found])
        is_better = (adjusted.state or "").startswith("different") and (found.value or 0) > 0
        counts.measured("called better, less the planned chance", is_better - planned_power(design))


def coins(rng: np.random.Generator) -> tuple[FloatArray, float]:
    return rng.choice([-1.0, 1.0], 80), 0.0


def rare(rng: np.random.Generator) -> tuple[FloatArray, float]:
    return (rng.random(80) < 0.03).astype(np.float64), 0.03


def annotators(rng: np.random.Generator) -> tuple[FloatArray, float]:
    """How often a judge is right less one annotator, for 30 annotators of 10 of 100 items each."""
    judge = (rng.random(100) < 0.7).astype(float)
    ease = rng.normal(0.8, 1, 100)
    items = rng.permuted(np.tile(np.arange(100), (30, 1)), axis=1)[:, :10]
    skill = rng.normal(0, 0.6, (30, 1))
    right = rng.random(items.shape) < logistic(ease[items] + skill)
    people = logistic(ease[:, None] + rng.normal(0, 0.6, 2000)).mean(axis=1)
    return (judge[items] - right).mean(axis=1), float((judge - people).mean())


def watched(
    rng: np.random.Generator,
    counts: Counts,
    *,
    draw: Callable[[np.random.Generator], tuple[FloatArray, float]],
) -> None:
    values, truth = draw(rng)
    found = confidence_sequence(values)
    ever = bool((found.low > truth).any() or (found.high < truth).any())
    counts.happened("ever excludes the truth", ever)


CHECKS = (
    *(
        MethodCheck(
            f"{100 * design.target:g} points, {design.n_items} items, {design.n_people} people, "
            f"SD {design.sd:g} of personas",
            "Share of studies in which the report calls the run better, less the chance that the "
            "planner gave.",
            partial(power, design=design),
            {"called better, less the planned chance": is_on_average(within=WITHIN)},
            quick=500,
            full=8000,
            batch=BATCH,
        )
        for design in (
            Design("seats", target=0.1),
            Design("seats", target=0.1, sd=0.5),
            Design("seats", target=0.15, n_items=150, n_people=15, questions=8),
        )
    ),
    *(
        MethodCheck(
            name,
            "95 % confidence sequence, looked at after every one of them.",
            partial(watched, draw=draw),
            {"ever excludes the truth": errs()},
            quick=300,
            full=10000,
        )
        for name, draw in (
            ("80 coins", coins),
            ("80 rare events", rare),
            ("30 annotators who share items", annotators),
        )
    ),
)
