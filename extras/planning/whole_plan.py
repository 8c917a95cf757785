"""The whole plan of a study: what it can show, what it costs, what is asked, and freezing it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User

from analysis.data.frozen_plan import FrozenPlan, keeper
from analysis.errors import AnalysisError, BadParameters
from annotation.seats.capacity import people_needed
from extras.planning import wording
from extras.planning.assumptions import Assumptions, forecast_of, request_forecast
from extras.planning.sources import cost_of, items_for_people, rates_of
from judging.backends.backend import IMPORTED
from judging.backends.known_models import (
    IMAGES,
    TIES,
    KnownModel,
    known_models,
    price_remark,
    refused,
)
from judging.backends.presets import GROUPS, words_of
from judging.errors import JudgingError
from judging.models import Judge
from judging.pages.campaign_forms import usual_settings
from judging.protocols.registry import protocol
from judging.runs.costs import PlannedUsage, duration, planned_usage
from judging.runs.planned import PlannedRuns, planned_runs
from studies.errors import StudyError
from studies.media import media_types
from studies.models import Study
from studies.money import format_cost
from studies.personas import resolve
from studies.services.items import ExpectedTime, expected_time
from studies.services.presets import PRESETS, RunGrid, preset_of
from studies.statements import clock


@dataclass(frozen=True)
class ModelCost:
    """What the planned runs of one model cost. `judge` is its name here, empty for a preset.

    `cost` is a sum, or says why there is none. `remarks` are what the model refuses and the age of
    its price, `note` what else to know before the first request.
    """

    judge: str
    preset: str
    title: str
    price: str
    cost: str
    remarks: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class PeoplePlan:
    """The people that the plan needs, with the time and the money that they cost.

    `reading` is the time that the items take to read, None before there are items.
    """

    items: int
    answers: int
    people: int
    hours: float
    reading: ExpectedTime | None
    lines: list[tuple[str, str]]
    is_fee_known: bool


@dataclass(frozen=True)
class WholePlan:
    """Everything on the page; `usage` is None before the study has items."""

    preset: str
    people: PeoplePlan
    runs: PlannedRuns
    run_words: list[str]
    usage: PlannedUsage | None
    problem: str
    judges: list[ModelCost]
    models: list[tuple[str, list[ModelCost]]]

    @property
    def judge_time(self) -> str:
        return "" if self.usage is None else duration(self.usage.seconds)


def whole_plan(study: Study) -> WholePlan:
    runs = _runs(study)
    usage, problem = None, ""
    try:
        usage = planned_usage(study, runs.each)
    except (StudyError, JudgingError) as error:
        problem = str(error)
    wanted = {
        TIES: any(protocol(setting).offers_tie for setting, _, _ in runs.each),
        IMAGES: bool(media_types(study)),
    }
    asked = frozenset(name for name, is_wanted in wanted.items() if is_wanted)
    name = preset_of(study)
    return WholePlan(
        preset=PRESETS[name].label if name else "",
        people=_people(study),
        runs=runs,
        run_words=[_run_words(study, *run) for run in runs.each],
        usage=usage,
        problem=problem,
        judges=[_of_judge(judge, usage, asked) for judge in _askable()],
        models=list(_by_group(usage, asked)),
    )


def _runs(study: Study) -> PlannedRuns:
    """Those of the preset; in other studies the usual setting with the whole persona."""
    planned = planned_runs(study)
    if planned.grids:
        return planned
    return PlannedRuns((RunGrid(tuple(usual_settings(study)), ("all",)),))


def _run_words(study: Study, setting: str, features: str, orders: str) -> str:
    seen = {"all": "all features", "none": "no persona"}.get(features)
    if seen is None:
        try:
            seen = f"features {', '.join(resolve(study, features) or ())}"
        except StudyError:  # before there are personas
            seen = f"features {features}"
    order = "both orders" if orders == "both" else f"order {orders}"
    return f"{setting}, {seen}, {order}"


def _people(study: Study) -> PeoplePlan:
    items = items_for_people(study)
    people = people_needed({study.annotations_per_item: items}, study.items_per_annotator)
    cost = cost_of(study, people, rates_of(study), None)
    return PeoplePlan(
        items=items,
        answers=study.annotations_per_item,
        people=people,
        hours=people * study.minutes / 60,
        reading=expected_time(study),
        lines=[line for line in wording.cost_lines({"cost": cost}) if line[0] != "Judges"],
        is_fee_known=cost["total"] is not None,
    )


def _askable() -> Sequence[Judge]:
    return list(Judge.objects.filter(is_retired=False).exclude(model=IMPORTED))


def _of_judge(judge: Judge, usage: PlannedUsage | None, asked: frozenset[str]) -> ModelCost:
    price, cost = "price unknown", "unknown (no price)"
    if judge.price_input is not None and judge.price_output is not None:
        price = f"${judge.price_input.normalize():f} in, ${judge.price_output.normalize():f} out"
        if judge.price_day:
            price += f", as of {judge.price_day:%Y-%m-%d}"
        cost = _dollars(usage, judge.price_input, judge.price_output)
    remarks = (*refused(judge.model, asked), *([judge.price_remark] if judge.price_remark else []))
    return ModelCost(judge.name, "", f"{judge.name}: {judge.model}", price, cost, remarks)


def _by_group(
    usage: PlannedUsage | None, asked: frozenset[str]
) -> Iterator[tuple[str, list[ModelCost]]]:
    models = known_models().values()
    for group, title in GROUPS.items():
        rows = [_of_model(known, usage, asked) for known in models if known.group == group]
        if rows:
            yield title, rows


def _of_model(known: KnownModel, usage: PlannedUsage | None, asked: frozenset[str]) -> ModelCost:
    cost, remarks = "unknown (no price)", refused(known.model, asked)
    if (price := known.price) is not None:
        cost = _dollars(usage, price.input, price.output)
        old = price_remark(
            price.day, today=clock.now().date(), until=price.until, source=price.source
        )
        remarks += [old] if old else []
    price_words = words_of(known)
    return ModelCost(
        "", known.name, known.title, price_words, cost, tuple(remarks), note=known.note
    )


def _dollars(usage: PlannedUsage | None, price_input: Decimal, price_output: Decimal) -> str:
    if usage is None:
        return "unknown before there are items"
    return f"${format_cost(float(usage.dollars(price_input, price_output)))}"


def frozen_content(study: Study) -> dict[str, Any] | None:
    """What the frozen plan of a study says; empty if there is none, None if nothing keeps plans."""
    plans = keeper()
    if plans is None or not study.has_extra(plans.name):
        return None
    return dict(plans.content(study))


def freeze_whole_plan(
    *, study: Study, judges: Sequence[str], hypotheses: str, user: User | None
) -> FrozenPlan:
    """Freeze the planned runs of these judges with the study's own values.

    Raises `AnalysisError`.
    """
    plans = keeper()
    if plans is None or not study.has_extra(plans.name):
        raise BadParameters(
            "Nothing keeps plans in this study. Turn on “Analysis plans” under Settings, Designs "
            "and analyses."
        )
    known = {judge.name for judge in _askable()}
    if unknown := [name for name in judges if name not in known]:
        raise BadParameters(f"There is no judge “{unknown[0]}”. Choose one of the list.")
    planned = [
        {"judge": name, "setting": setting, "features": features}
        for name in judges
        for setting, features, _ in _runs(study).each
    ]
    return plans.freeze(study, judges=planned, hypotheses=hypotheses, user=user)


def forecast_in_step(study: Study) -> Callable[[], None]:
    """After a change of seats: forecast a study again whose preset plans runs.

    Other studies are forecast when somebody asks for it.
    """

    def follow() -> None:
        preset = PRESETS.get(preset_of(study))
        if preset is None or not preset.runs or study.frozen_at is not None:
            return
        try:
            assumed = Assumptions.of(study, items_there=items_for_people(study))
        except AnalysisError:
            return  # no items yet, or more than are simulated
        known = forecast_of(study.pk)
        if known is None or known.assumptions != assumed.stored:
            request_forecast(study_id=study.pk, assumed=assumed, user=None)

    return follow
