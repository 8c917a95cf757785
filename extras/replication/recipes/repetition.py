"""Repeat a recipe: a study for each data set, a campaign for each question, and the tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from analysis.report.article import ArticleData
from analysis.report.tables import Table
from extras.replication.recipes import asking
from extras.replication.recipes.asking import (
    Planned,
    RecipeCost,
    at_full_size,
    cost_table,
    of_items,
)
from extras.replication.recipes.recipe import BadRecipe, Data, DataQuestion, Models, Recipe
from extras.replication.recipes.reproduction import (
    SCHEMA,
    ModelAnswers,
    cell_rows,
    charts,
    collect,
    in_article,
    persona_table,
    tables,
)
from extras.replication.released.replication import PaperFigure, Replication, find_files, replicate
from extras.replication.released.result_files import ReplicationError
from studies.errors import BadOption, StudyError
from studies.importers.files.faults import Refused
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.items.storage import import_items
from studies.importers.sets import data_sets
from studies.management.terminal import explain
from studies.models.studies import Study


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """Options for repeating a recipe.

    `data` is the folder with the data sets, `outputs` the one with the paper's released files.
    `given` replaces importer options, by data set. `limit` asks about the first items only.
    `prefix` replaces the recipe's name at the start of the studies' short names.
    """

    variants: tuple[str, ...]
    data: Path | None = None
    outputs: Path | None = None
    given: Mapping[str, Mapping[str, str]]
    limit: int | None = None
    owner: User | None = None
    prefix: str = ""


@dataclass(frozen=True)
class Repeated:
    """The current results: the content of reproduction.json, tables and figures.

    `article` has the counts for the article's own layout, if the recipe repeats the article.
    """

    result: Mapping[str, Any]
    tables: list[Table]
    charts: list[PaperFigure]
    article: list[ArticleData]


def questions_of(recipe: Recipe, options: Repetition) -> list[DataQuestion]:
    """The questions about the available data sets; all questions without a data folder."""
    for key in options.given:
        if key not in recipe.data:
            raise BadRecipe(f"There is no data set “{key}”. Use: {', '.join(recipe.data)}.")
    there = recipe.data if options.data is None else folders(recipe, options.data)
    return recipe.questions(options.variants, tuple(there))


def absent(recipe: Recipe, options: Repetition) -> list[str]:
    """Data sets without a folder."""
    there = {} if options.data is None else folders(recipe, options.data)
    return [key for key in recipe.data if key not in there]


def estimated(recipe: Recipe, models: Models, options: Repetition) -> list[RecipeCost]:
    """The questions to ask and their cost. Stores and sends nothing."""
    questions = questions_of(recipe, options)
    if options.data is None:
        return at_full_size(recipe, questions, models, limit=options.limit)
    with transaction.atomic():
        costs = list(of_items(prepare(recipe, models, options)))
        transaction.set_rollback(True)
    return costs


def prepare(recipe: Recipe, models: Models, options: Repetition) -> list[Planned]:
    """Create or find studies, items, judges and wordings, and plan every question."""
    if options.data is None:
        raise BadRecipe("Give the folder with the data sets.")
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
            replaced=options.given.get(question.data.key, {}),
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
    """Ask the unanswered questions within one budget; return why runs stopped early.

    Without `inline` the workers do the work, and this returns at once.
    """
    if confirm_sharing is not None:
        studies = list({one.study.pk: one.study for one in planned}.values())
        asking.allow_providers(studies, confirm_sharing)
    asking.start(recipe, planned, budget=budget, enqueue=not inline, change=change, user=user)
    return asking.work_off(planned, on_wait=on_wait) if inline else []


def found(
    recipe: Recipe, models: Models, options: Repetition, planned: Sequence[Planned]
) -> Repeated:
    """Tables and figures of the answers so far."""
    recipe = _labelled(recipe, models)
    answers = collect(recipe, planned)
    released = _released(recipe, options.outputs)
    rows = cell_rows(recipe, answers, released.result["cells"] if released else ())
    every_table = tables(recipe, rows)
    personas: dict[tuple[str, str], list[str]] = {}
    article: list[ArticleData] = []
    if recipe.is_of_the_paper:
        personas = {
            (one.question.data.title, recipe.variants[one.question.variant]): features_of(one.study)
            for one in planned
        }
        every_table.append(persona_table([(*key, labels) for key, labels in personas.items()]))
        every_table.sort(key=lambda table: table.name)
        article = in_article(recipe, answers, personas, simulated=models.simulated)
    costs = list(of_items(planned))
    every_table.append(cost_table(recipe, costs))
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
    return Repeated(result, every_table, drawn, article)


def _labelled(recipe: Recipe, models: Models) -> Recipe:
    """The recipe; variants of simulated models are labelled, so that files keep the label."""
    if not models.simulated:
        return recipe
    names = {key: f"{name}, simulated" for key, name in recipe.variants.items()}
    return replace(recipe, variants=names)


def _released(recipe: Recipe, outputs: Path | None) -> Replication | None:
    """The recounted released files, if their folder is given."""
    if outputs is None or not recipe.is_of_the_paper:
        return None
    try:
        return replicate(find_files(outputs))
    except ReplicationError as error:
        raise BadRecipe(str(error)) from error


def _state(
    answers: Sequence[ModelAnswers],
    costs: Sequence[RecipeCost],
    models: Models,
    missing: Sequence[str],
) -> str:
    """The state of the answers in one or two sentences."""
    left = sum(cost.requests for cost in costs)
    answered = sum(one.answered for one in answers)
    model = "model" if len(models.names) == 1 else "models"
    words = f"{len(answers)} runs of {len(models.names)} {model}: {answered:,} items answered, "
    words += f"{left:,} requests left." if left else "nothing left to ask."
    if missing:
        words += f" Without data: {', '.join(missing)}."
    return f"Simulated models. {words}" if models.simulated else words


def slug_of(prefix: str, data: Data, variant: str, *, simulated: bool) -> str:
    """The short name of a study; simulated models get separate studies."""
    name = f"{prefix}-{data.key}-{variant}"
    return f"{name}-simulated" if simulated else name


def folders(recipe: Recipe, root: Path) -> dict[str, Path]:
    """The existing data set folders below `root`. Raises `BadRecipe` if there are none."""
    existing = {
        key: root / data.folder
        for key, data in recipe.data.items()
        if (root / data.folder).exists()
    }
    if not existing:
        wanted = ", ".join(dict.fromkeys(data.folder for data in recipe.data.values()))
        raise BadRecipe(
            f"{root} has none of the folders {wanted}. Put each data set into its own folder."
        )
    return existing


def prepare_study(
    recipe: Recipe,
    data: Data,
    variant: str,
    folder: Path,
    *,
    prefix: str,
    simulated: bool,
    replaced: Mapping[str, str],
    owner: User | None = None,
) -> Study:
    """The study of a data set in a variant, with all its items; repeated calls change nothing.

    `replaced` are options that replace the recipe's. Raises `BadRecipe`.
    """
    sets = data_sets()
    if data.format not in sets:
        raise BadRecipe(f"data.{data.key}.format: “{data.format}” is none of {', '.join(sets)}.")
    options = {**data.options.get(variant, {}), **replaced}
    slug = slug_of(prefix, data, variant, simulated=simulated)
    task = sets[data.format].task
    try:
        files = read_paths([folder], ImportOptions(task, data.format, options=options))
        result = import_items(
            slug,
            files,
            create=True,
            user=owner,
            title=f"{sets[data.format].title}, {recipe.variants[variant]} ({recipe.title})"[:200],
            task=task,
            is_simulated=simulated,
        )
    except ValidationError as error:
        raise BadRecipe(f"{slug}: {explain(error)}") from error
    except Refused as error:
        raise BadRecipe(
            f"{slug}: {error}\nIf the study was made from other files or options, keep it and use "
            "another --prefix here."
        ) from error
    except (BadOption, StudyError) as error:
        raise BadRecipe(f"{slug}: {error}") from error
    return result.study


def features_of(study: Study) -> list[str]:
    """The labels of all features of a study's personas."""
    labels: dict[str, str] = {}
    for features in study.personas.values_list("features", flat=True):
        for feature in features:
            labels.setdefault(feature["key"], feature["label"].lower())
    return list(labels.values())
