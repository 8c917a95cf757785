"""What a recipe asks and costs: from its full sizes, or from the items that are there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from analysis.report.tables import Table, TableColumn
from extras.replication.recipes.asking import Planned, estimates, reply_tokens, requests_for_each
from extras.replication.recipes.models_file import Models
from extras.replication.recipes.recipe import DataQuestion, Recipe

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
    """Costs by the sizes that the recipe states, without data and without a database."""
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
    """Costs of what is not answered yet, by the items of the studies."""
    for one in planned:
        for row in estimates(one):
            yield RecipeCost(
                one.question, row.judge.name, row.questions, row.answered, row.tokens, row.dollars
            )


def cost_table(recipe: Recipe, costs: Sequence[RecipeCost]) -> Table:
    """A row for each run, and the sum."""
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
        "What each model is asked, and what it costs",
        columns,
        rows,
        "Tokens at four letters each; replies that have to be asked for again are not included. "
        "A dash means that a model has no price.",
    )
