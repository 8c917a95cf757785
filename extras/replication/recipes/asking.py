"""Ask a recipe's questions as campaigns: models, prompts, start, cost and work."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.report.tables import Table, TableColumn
from extras.replication.recipes.recipe import BadRecipe, DataQuestion, Models, Recipe
from extras.replication.wordings.recovered import import_template
from judging.errors import ConflictingValue, FailureReason, JudgingError
from judging.models import Campaign, JudgeRun
from judging.protocols.registry import protocol
from judging.runs import lifecycle
from judging.runs.campaigns import CampaignPlan, cells_of, start_campaign
from judging.runs.costs import RunEstimate, estimate_run
from judging.runs.judges import add_judge
from judging.runs.spec import NO_PRICE
from judging.selectors import run_progress
from judging.worker import runtime
from studies.errors import StudyError
from studies.importers.files.bundle import file_at
from studies.models.studies import Study
from studies.services.studies import confirm_providers, lock_study, record

_OTHER_BUDGET = FailureReason(
    "other_budget",
    "These runs have {there} already. Name the same {field} to continue them, or change it with "
    "--change.",
)
_NOT_SHARED = FailureReason(
    "not_shared", "A campaign of its own has the {field} “{value}” already. Use another name."
)


@contextmanager
def in_words() -> Iterator[None]:
    """Re-raise judging errors as recipe errors with the same message."""
    try:
        yield
    except (JudgingError, StudyError) as error:
        raise BadRecipe(str(error)) from error


@dataclass(frozen=True)
class Planned:
    """A question, the study with its items, and the plan to ask it."""

    question: DataQuestion
    study: Study
    plan: CampaignPlan


@in_words()
def add_models(models: Models) -> None:
    """Add every model as a judge, or update it if it exists.

    They are asked for text, as those of the study that is repeated were.
    """
    for fields in models.judges:
        add_judge(**{"structured": False, **fields})


@in_words()
def allow_providers(studies: Sequence[Study], reason: str) -> None:
    """Confirm that items of these studies may be sent to providers."""
    for study in studies:
        confirm_providers(study_id=study.pk, reason=reason)


@in_words()
def plans(
    recipe: Recipe,
    questions: Sequence[DataQuestion],
    studies: Mapping[tuple[str, str], Study],
    models: Models,
    *,
    outputs: Path | None = None,
    limit: int | None = None,
) -> list[Planned]:
    """A plan for each question, asked of every model.

    `studies` are by data set and variant. `outputs` is the folder of released files, whose prompts
    are used if the recipe names them.
    """
    planned = []
    for question in questions:
        study = studies[question.data.key, question.variant]
        plan = CampaignPlan(
            name=f"{recipe.name}: {question.ask.key}"[:120],
            judges=models.names,
            settings=[question.ask.setting],
            features=[question.features],
            orders=[recipe.orders],
            wordings=[_wording(question, study, outputs)],
            samples=recipe.samples,
            limit=limit,
        )
        planned.append(Planned(question, study, plan))
    return planned


def _wording(question: DataQuestion, study: Study, outputs: Path | None) -> str:
    """The recovered wording of a question, or the protocol's own as an empty name."""
    name = question.ask.wordings.get(question.data.key)
    if outputs is None or name is None or not (outputs / name).is_file():
        return ""
    stored = import_template(
        study_id=study.pk, file=file_at(outputs / name), name=f"released {question.ask.key}"
    )
    if stored.setting != question.ask.setting:
        return ""  # for example the prompt that asked for a certainty from 1 to 5
    return stored.reference


@in_words()
def start(
    recipe: Recipe,
    planned: Sequence[Planned],
    *,
    budget: Decimal | None,
    enqueue: bool,
    change: bool = False,
    user: User | None = None,
) -> None:
    """Start or continue every run within one budget; `change` replaces an earlier budget."""
    start_with_shared_budget(
        [StudyPlan(one.study.pk, one.plan) for one in planned],
        name=f"{recipe.name}: budget",
        budget=budget,
        enqueue=enqueue,
        change=change,
        user=user,
    )


@in_words()
def runs_of(planned: Planned) -> list[JudgeRun]:
    """The run of each model for a question, stored or not, in the order of the models."""
    return [cell.run for cell in cells_of(planned.study, planned.plan)]


@in_words()
def estimates(planned: Planned) -> list[RunEstimate]:
    """What each model is asked and what that costs, from the available items."""
    return [estimate_run(cell.run, cell.spec) for cell in cells_of(planned.study, planned.plan)]


def reply_tokens(setting: str) -> int:
    return protocol(setting).reply_tokens


def requests_for_each(setting: str) -> int:
    return protocol(setting).steps


def work_off(planned: Sequence[Planned], *, on_wait: Callable[[int, int], None]) -> list[str]:
    """Run every judge in this process; return a sentence for each run that stopped early.

    `on_wait` receives the numbers of finished and of all judgments.
    """
    runs = [run for one in planned for run in runs_of(one)]
    total = sum(run_progress(run).total for run in runs)

    def show() -> None:
        on_wait(sum(run_progress(run).ended for run in runs), total)

    try:
        for run in runs:
            lifecycle.work_off(run_id=run.pk, on_wait=show)
            show()
    finally:
        runtime.shut_down()
    stopped = JudgeRun.objects.filter(
        pk__in=[run.pk for run in runs],
        state__in=[JudgeRun.State.STOPPED_BUDGET, JudgeRun.State.STOPPED_OUTAGE],
    ).select_related("judge")
    return [f"Run {run.public_id} of {run.judge.name}: {run.sentence}" for run in stopped]


_LETTERS_PER_TOKEN = 4
_MILLION = 1_000_000


@dataclass(frozen=True)
class RecipeCost:
    """A run: one model, one question about one data set. `dollars` is None without a price."""

    question: DataQuestion
    model: str
    requests: int
    answered: int
    tokens: int
    dollars: Decimal | None


def at_full_size(
    recipe: Recipe, questions: Sequence[DataQuestion], models: Models, *, limit: int | None = None
) -> list[RecipeCost]:
    """Costs for the sizes in the recipe, without data or a database."""
    return [
        _by_size(recipe, question, judge, limit)
        for question in questions
        for judge in models.judges
    ]


def _by_size(recipe: Recipe, question: DataQuestion, judge: Any, limit: int | None) -> RecipeCost:
    size = question.data.items[question.variant]
    items = size if limit is None else min(size, limit)
    orders = 2 if recipe.orders == "both" else 1
    requests = items * orders * recipe.samples * requests_for_each(question.ask.setting)
    sent = requests * question.data.letters[question.ask.key] / _LETTERS_PER_TOKEN
    received = requests * reply_tokens(question.ask.setting)
    dollars = None
    if "price_input" in judge and "price_output" in judge:
        dollars = (
            Decimal(sent) * judge["price_input"] + Decimal(received) * judge["price_output"]
        ) / _MILLION
    return RecipeCost(question, judge["name"], requests, 0, round(sent + received), dollars)


def of_items(planned: Sequence[Planned]) -> Iterator[RecipeCost]:
    """Costs of the unanswered questions about the studies' items."""
    for one in planned:
        for row in estimates(one):
            yield RecipeCost(
                one.question, row.judge.name, row.questions, row.answered, row.tokens, row.dollars
            )


def cost_table(recipe: Recipe, costs: Sequence[RecipeCost]) -> Table:
    """A row per run, and the total."""
    rows = [
        [
            cost.question.data.title,
            recipe.variants[cost.question.variant],
            cost.question.ask.key,
            cost.question.ask.setting,
            cost.question.features,
            ", ".join(table.removeprefix("table") for table in recipe.fills(cost.question)),
            cost.model,
            cost.requests,
            cost.answered,
            cost.tokens,
            None if cost.dollars is None else float(cost.dollars),
        ]
        for cost in costs
    ]
    priced = [cost.dollars for cost in costs if cost.dollars is not None]
    total = float(sum(priced, Decimal(0))) if len(priced) == len(costs) else None
    asked, answered, tokens = (
        sum(getattr(cost, name) for cost in costs) for name in ("requests", "answered", "tokens")
    )
    rows.append(["All", "", "", "", "", "", "", asked, answered, tokens, total])
    columns = (
        TableColumn("Data"),
        TableColumn("Variant"),
        TableColumn("Asked"),
        TableColumn("Setting"),
        TableColumn("Features"),
        TableColumn("Tables"),
        TableColumn("Model"),
        TableColumn("Requests", "count"),
        TableColumn("Answered", "count"),
        TableColumn("Tokens", "count"),
        TableColumn("Dollars", "decimal"),
    )
    return Table(
        "costs",
        "Requests and cost by model",
        columns,
        rows,
        "Tokens are estimated at four characters each, without repeated requests. A dash means "
        "that a model has no price.",
    )


@dataclass(frozen=True)
class StudyPlan:
    """A plan and its study; the plan itself has no budget."""

    study_id: int
    plan: CampaignPlan


@transaction.atomic
def start_with_shared_budget(
    parts: Sequence[StudyPlan],
    *,
    name: str,
    budget: Decimal | None = None,
    enqueue: bool = True,
    change: bool = False,
    user: User | None = None,
) -> list[Campaign]:
    """Start, or continue, one campaign for each part: all of them or, when one cannot start, none.

    All runs together spend at most `budget` US dollars. The same call again asks nothing new. With
    another budget, or none, it raises `ConflictingValue`, unless it is to `change` what is there
    under this name. Raises what `start_campaign` raises.
    """
    for study_id in sorted({part.study_id for part in parts}):
        lock_study(study_id)
    campaigns = [
        start_campaign(
            study_id=part.study_id, plan=part.plan, enqueue=enqueue, change=change, user=user
        )
        for part in parts
    ]
    runs = JudgeRun.objects.filter(campaigns__in=campaigns).distinct()
    unpriced = runs.filter(judge__price_input=None).values_list("judge__name", flat=True)
    if budget is not None and (names := sorted(set(unpriced))):
        raise ConflictingValue("budget", NO_PRICE, judge=names[0])
    shared, _ = Campaign.objects.get_or_create(
        study=campaigns[0].study, name=name, defaults={"plan": {}, "budget": budget}
    )
    if shared.plan:
        raise ConflictingValue("name", _NOT_SHARED, value=name)
    if shared.budget != budget:
        before, after = (None if one is None else str(one) for one in (shared.budget, budget))
        if not change:
            there = "no budget" if before is None else f"a budget of ${shared.budget:,.2f}"
            raise ConflictingValue("budget", _OTHER_BUDGET, there=there)
        told = {"campaign": name, "field": "budget", "before": before, "after": after}
        record(shared.study, "campaign changed", user=user, **told)
        shared.budget = budget
        shared.save(update_fields=["budget"])
    shared.runs.add(*runs)
    return campaigns
