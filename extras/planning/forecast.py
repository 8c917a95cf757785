"""Forecast what studies of a design would show, and alternatives with the same people."""

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from analysis.errors import BadParameters
from analysis.report.words import number_of
from extras.planning.assumptions import OF_PILOT, PEOPLE, Assumptions
from extras.planning.sources import (
    Rates,
    clusters_of_items,
    cost_of,
    judge_dollars,
    pilot_answers,
    rates_of,
)
from extras.planning.stats.power import Power, simulate_power
from extras.planning.stats.sample_sizes import annotators_needed
from extras.planning.stats.simulated_studies import Effects, StudyModel, random_layout
from extras.planning.stats.variance_components import VarianceComponents, variance_components
from studies.models.studies import Study

DIFFERENCES = (-0.1, -0.05, 0.0, 0.05, 0.1)
# What-if sizes, as multiples of the planned one, and other numbers of answers.
SIZES = (0.5, 1.5, 2.0, 3.0, 5.0)
ANSWERS = (1, 3, 5, 7)
# With fewer items per annotator, the alternative annotator test has no power.
ENOUGH_FOR_REPLACEMENT = 100
ForecastProgress = Callable[[int, str], None]


def forecast(
    study: Study, assumed: Assumptions, *, what_if: bool = True, on_progress: ForecastProgress
) -> dict[str, Any]:
    """Simulate the planned design and, for `what_if`, others. Raises `BadParameters`."""
    pilot, assumed = with_pilot(assumed, on_progress)
    persona, question = clusters_of_items(study)
    if not persona:
        persona = question = list(range(assumed.items))
    codes = np.array(persona, dtype=np.int64), np.array(question, dtype=np.int64)
    designs = [assumed, *(_others(assumed) if what_if else ())]
    rates = rates_of(study)
    total = sum(one.items * one.answers for one in designs)
    simulated, done = [], 0
    for one in designs:
        share = one.items * one.answers / total

        def step(
            part: float, done: float = done, share: float = share, one: Assumptions = one
        ) -> None:
            on_progress(
                min(99, int(100 * (done + share * part))),
                f"Simulating {number_of(one.items, 'item')} with "
                f"{number_of(one.answers, 'answer')} each.",
            )

        simulated.append(_design(study, one, codes, rates, step))
        done += share
    return {
        "assumptions": assumed.stored,
        "pilot": None if pilot is None else _stored(pilot),
        "designs": simulated,
        "warnings": warnings_of(assumed, simulated[0]),
        "simulated": study.is_simulated,
    }


def with_pilot(
    assumed: Assumptions, on_progress: ForecastProgress
) -> tuple[VarianceComponents | None, Assumptions]:
    """The pilot's estimates, which replace defaults that the researcher kept."""
    if not assumed.pilot:
        return None, assumed
    on_progress(0, f"Reading the pilot {assumed.pilot}.")
    fitted = variance_components(
        pilot_answers(assumed.pilot), rng=np.random.default_rng(assumed.seed)
    )
    if fitted is None:
        raise BadParameters(
            f"All answers of study “{assumed.pilot}” are right or all are wrong, so it allows no "
            "estimates. Choose another pilot."
        )
    estimated: dict[str, float | None] = {
        "accuracy_people": fitted.accuracy,
        "accuracy_judge": fitted.judge,
        "overlap": fitted.components["overlap"].value,
    }
    for name in ("item", "annotator", "persona", "question"):
        estimated[f"sd_{name}"] = fitted.components[name].value
    taken = {
        name: round(value, 4)
        for name in OF_PILOT
        if name not in assumed.chosen and (value := estimated[name]) is not None
    }
    adjusted = replace(assumed, **taken)  # type: ignore[arg-type]
    adjusted.check()
    return fitted, adjusted


def _others(assumed: Assumptions) -> list[Assumptions]:
    others = []
    sizes = [round(assumed.items * size) for size in SIZES]
    for items in (*sizes, PEOPLE * assumed.per_annotator // assumed.answers):
        others.append(replace(assumed, items=max(30, assumed.per_annotator, items)))
    others += [replace(assumed, answers=k) for k in ANSWERS if k != assumed.answers]
    distinct = {(one.items, one.answers): one for one in others}
    distinct.pop((assumed.items, assumed.answers), None)
    kept = []
    for one in distinct.values():
        try:
            one.check()
        except BadParameters:
            continue  # too large to simulate
        kept.append(one)
    return sorted(kept, key=lambda one: (one.answers != assumed.answers, one.answers, one.items))


def _design(
    study: Study, one: Assumptions, codes: Any, rates: Rates, step: Callable[[float], None]
) -> dict[str, Any]:
    rng = np.random.default_rng(one.seed)
    effects = Effects(one.sd_item, one.sd_annotator, one.sd_persona, one.sd_question, one.overlap)
    model = StudyModel(one.accuracy_people, one.answers, effects)
    layout = random_layout(
        *codes,
        n_items=one.items,
        answers=one.answers,
        per_annotator=one.per_annotator,
        rng=rng,
    )
    expected = _expected(one, model)
    gaps = DIFFERENCES if expected is None else tuple(sorted({*DIFFERENCES, expected}))
    power = simulate_power(
        model,
        layout,
        gaps,
        judges=one.judges,
        margin=one.margin,
        n_draws=one.draws,
        rng=rng,
        step=step,
    )
    people = annotators_needed(one.items, one.answers, one.per_annotator)
    return {
        "items": one.items,
        "answers": one.answers,
        "annotators": people,
        "per_annotator": one.per_annotator,
        "expected": expected,
        **_results(power),
        "cost": cost_of(study, people, rates, judge_dollars(study, one.items, one.judges)),
    }


def _expected(one: Assumptions, model: StudyModel) -> float | None:
    """The difference implied by the expected accuracies."""
    if one.accuracy_judge is None:
        return None
    return round(one.accuracy_judge - model.majority, 4)


def _results(power: Power) -> dict[str, Any]:
    return {
        "majority": power.majority,
        "outcomes": [asdict(outcome) for outcome in power.outcomes],
        "detectable": asdict(power.detectable),
        "too_few": list(power.too_few),
        "draws": power.n_draws,
    }


def _stored(pilot: VarianceComponents) -> dict[str, Any]:
    return {
        "accuracy": pilot.accuracy,
        "judge": pilot.judge,
        "components": {name: asdict(one) for name, one in pilot.components.items()},
        "draws": pilot.n_draws,
    }


def warnings_of(assumed: Assumptions, design: dict[str, Any]) -> list[str]:
    """Warnings for the researcher before the launch."""
    warnings = []
    if design["too_few"]:
        kinds = {"annotator": "people", "persona": "personas", "question": "questions"}
        few = " and ".join(kinds[name] for name in design["too_few"])
        warnings.append(f"There are too few {few} to generalise to others like them.")
    if assumed.answers % 2 == 0:
        warnings.append(
            f"With {assumed.answers} answers per item, the majority is tied on some items, which "
            "then do not count. An odd number avoids ties."
        )
    if assumed.answers > 1 and assumed.per_annotator < ENOUGH_FOR_REPLACEMENT:
        warnings.append(
            f"The alternative annotator test has no power with {assumed.per_annotator} items for "
            f"each of {design['annotators']} people. With 30 items each, even a much better "
            "judge passed in none of 60 simulated studies. The test needs about nine people "
            "with 100 items each: then a judge that is 2 points better passes in 43 of 100 "
            "studies at ε = .1 and nearly always at ε = .2."
        )
    return warnings
