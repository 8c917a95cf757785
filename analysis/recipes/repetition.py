"""Repeat a recipe: studies, one campaign for each question, and the tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.errors import BadRecipe
from analysis.recipes import asking
from analysis.recipes.asking import Planned
from analysis.recipes.costs import Cost, at_full_size, cost_table, of_items
from analysis.recipes.data_sets import features_of, folders, prepare_study
from analysis.recipes.models_file import Models
from analysis.recipes.recipe import DataQuestion, Recipe
from analysis.recipes.reproduction import SCHEMA, cell_rows, charts, persona_table, tables
from analysis.recipes.results import Answers, collect
from analysis.replication import Replication, replicate
from analysis.replication.charts import Chart
from analysis.replication.errors import ReplicationError
from analysis.replication.replication import find_files
from analysis.report.tables import Table


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a recipe is repeated.

    `data` is the folder with the data sets, `outputs` that with the paper's released files.
    `given` replaces options of importers, by data set. `limit` asks about the first items only.
    `prefix` begins the short names of the studies, instead of the recipe's name.
    """

    variants: tuple[str, ...]
    data: Path | None = None
    outputs: Path | None = None
    given: Mapping[str, Mapping[str, str]]
    limit: int | None = None
    owner: User | None = None
    prefix: str = ""


@dataclass(frozen=True)
class Found:
    """What a repetition has now: the content of reproduction.json, its tables and figures."""

    result: Mapping[str, Any]
    tables: list[Table]
    charts: list[Chart]


def questions_of(recipe: Recipe, options: Options) -> list[DataQuestion]:
    """The questions about the data sets that are there; all of them without a folder of data."""
    for key in options.given:
        if key not in recipe.data:
            raise BadRecipe(f"There is no data set “{key}”. Use: {', '.join(recipe.data)}.")
    there = recipe.data if options.data is None else folders(recipe, options.data)
    return recipe.questions(options.variants, tuple(there))


def absent(recipe: Recipe, options: Options) -> list[str]:
    """Data sets without a folder."""
    there = {} if options.data is None else folders(recipe, options.data)
    return [key for key in recipe.data if key not in there]


def estimated(recipe: Recipe, models: Models, options: Options) -> list[Cost]:
    """What would be asked, and its cost. Stores nothing and sends nothing."""
    questions = questions_of(recipe, options)
    if options.data is None:
        return at_full_size(recipe, questions, models, limit=options.limit)
    with transaction.atomic():
        costs = list(of_items(prepare(recipe, models, options)))
        transaction.set_rollback(True)
    return costs


def prepare(recipe: Recipe, models: Models, options: Options) -> list[Planned]:
    """Create or find studies, items, judges and wordings, and plan every question."""
    if options.data is None:
        raise BadRecipe("Name the folder with the data sets.")
    there, questions = folders(recipe, options.data), questions_of(recipe, options)
    asking.add_models(models)
    studies = {
        (question.data.key, question.variant): prepare_study(
            recipe,
            question.data,
            question.variant,
            there[question.data.key],
            prefix=options.prefix or recipe.name,
            simulated=models.simulated,
            given=options.given.get(question.data.key, {}),
            owner=options.owner,
        )
        for question in {(q.data.key, q.variant): q for q in questions}.values()
    }
    return asking.plans(
        recipe, questions, studies, models, outputs=options.outputs, limit=options.limit
    )


def ask(
    recipe: Recipe,
    planned: Sequence[Planned],
    *,
    budget: Decimal | None,
    inline: bool,
    change: bool = False,
    confirm_sharing: str | None = None,
    user: User | None = None,
    on_wait: Callable[[int, int], None] = lambda ended, total: None,
) -> list[str]:
    """Ask what is not answered yet, within one budget; return why runs stopped early.

    Without `inline` the workers ask, and this returns at once.
    """
    if confirm_sharing is not None:
        studies = list({one.study.pk: one.study for one in planned}.values())
        asking.allow_providers(studies, confirm_sharing)
    asking.start(recipe, planned, budget=budget, enqueue=not inline, change=change, user=user)
    return asking.work_off(planned, on_wait=on_wait) if inline else []


def found(recipe: Recipe, models: Models, options: Options, planned: Sequence[Planned]) -> Found:
    """Tables and figures of what is answered so far."""
    recipe = _labelled(recipe, models)
    answers = collect(recipe, planned)
    released = _released(recipe, options.outputs)
    rows = cell_rows(recipe, answers, released.result["cells"] if released else ())
    made = tables(recipe, rows)
    if recipe.is_of_the_paper:
        personas = {
            (one.question.data.title, recipe.variants[one.question.variant]): features_of(one.study)
            for one in planned
        }
        made.append(persona_table([(*key, labels) for key, labels in personas.items()]))
        made.sort(key=lambda table: table.name)
    costs = list(of_items(planned))
    made.append(cost_table(recipe, costs))
    drawn = charts(recipe, answers, released.charts if released else ())
    result = {
        "schema": SCHEMA,
        "recipe": recipe.name,
        "title": recipe.title,
        "citation": recipe.citation,
        "simulated": models.simulated,
        "state": _state(answers, costs, models, absent(recipe, options)),
        "studies": sorted({one.study.slug for one in planned}),
        "models": models.names,
        "cells": rows,
    }
    return Found(result, made, drawn)


def _labelled(recipe: Recipe, models: Models) -> Recipe:
    """The recipe with variants that say so if the models are simulated: files keep the label."""
    if not models.simulated:
        return recipe
    names = {key: f"{name}, simulated" for key, name in recipe.variants.items()}
    return replace(recipe, variants=names)


def _released(recipe: Recipe, outputs: Path | None) -> Replication | None:
    """The released files counted again, where their folder is given."""
    if outputs is None or not recipe.is_of_the_paper:
        return None
    try:
        return replicate(find_files(outputs))
    except ReplicationError as error:
        raise BadRecipe(str(error)) from error


def _state(
    answers: Sequence[Answers], costs: Sequence[Cost], models: Models, missing: Sequence[str]
) -> str:
    """What is answered, in a sentence or two."""
    left = sum(cost.requests for cost in costs)
    answered = sum(one.answered for one in answers)
    model = "model" if len(models.names) == 1 else "models"
    words = f"{len(answers)} runs of {len(models.names)} {model}: {answered:,} items answered, "
    words += f"{left:,} requests left." if left else "nothing left to ask."
    if missing:
        words += f" Without data: {', '.join(missing)}."
    return f"Simulated models. {words}" if models.simulated else words
