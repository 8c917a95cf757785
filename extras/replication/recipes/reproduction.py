"""Published figures, released outputs and today's answers next to each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING, Dataset, RunData
from analysis.data.dataset import load_dataset
from analysis.data.verdicts import run_verdicts
from analysis.report.article import (
    FEWER_FEATURES,
    ArticleData,
    ArticleRun,
    ByCertainty,
    certainty_bars,
)
from analysis.report.render import render_document, shown
from analysis.report.tables import Table, TableColumn
from analysis.report.words import decimal
from extras.replication.recipes.asking import Planned, runs_of
from extras.replication.recipes.recipe import DataQuestion, Recipe
from extras.replication.released.article import by_rule_counts
from extras.replication.released.cells import published
from extras.replication.released.replication import (
    Bars,
    PaperFigure,
    bars_table,
    write_output,
)

_COUNTED = ("done", "unparseable", "refused")  # an item that has a reply from the model
NOTHING = {"n": 0, "correct": 0, "accuracy": None}


@dataclass(frozen=True)
class ModelAnswers:
    """The answers of one model to one question about a data set.

    `rules` are counts by the paper's rule and part, as in `replication.counts`; `bars` are right
    and wrong answers by stated certainty in tens.
    """

    question: DataQuestion
    model: str
    items: int
    answered: int
    rules: Mapping[str, Mapping[str, Mapping[str, Any]]]
    bars: tuple[tuple[str, int, int], ...]


def collect(recipe: Recipe, planned: Sequence[Planned]) -> list[ModelAnswers]:
    """The answers to every question, with empty counts for runs without answers."""
    data: dict[str, Dataset] = {}
    answers = []
    for one in planned:
        slug = one.study.slug
        if slug not in data:
            data[slug] = load_dataset(slug)
        by_key = {run.run: run for run in data[slug].runs}
        for row in runs_of(one):
            run = by_key.get(row.key)
            answers.append(_answers(recipe, one.question, row.judge.name, data[slug], run))
    return answers


def _answers(
    recipe: Recipe, question: DataQuestion, model: str, data: Dataset, run: RunData | None
) -> ModelAnswers:
    items = len(data.items)
    if run is None:
        empty = {rule: dict.fromkeys(("overall", "high", "low"), NOTHING) for rule in _RULES}
        return ModelAnswers(question, model, items, 0, empty, ())
    verdicts = run_verdicts(data, run)
    correct, certainty = verdicts.correct, verdicts.certainty
    rows = run.judgments
    replied = np.isin(rows.status, _COUNTED)
    asked = np.bincount(rows.item[replied], minlength=items) > 0
    has_truth = data.scored_truth(offers_tie=run.offers_tie) != MISSING
    counted = {"drop_nonAB": correct >= 0, "all_rows": asked & has_truth}
    # As in the paper, an answer without a certainty does not count as high.
    high = np.nan_to_num(certainty, nan=-1.0) >= recipe.threshold
    rules = {
        rule: {
            "overall": _share(correct, kept),
            "high": _share(correct, kept & high),
            "low": _share(correct, kept & ~high),
        }
        for rule, kept in counted.items()
    }
    bars = certainty_bars(correct, certainty)
    return ModelAnswers(question, model, items, int(asked.sum()), rules, bars)


_RULES = ("drop_nonAB", "all_rows")


def _share(correct: Any, kept: Any) -> dict[str, Any]:
    n, right = int(kept.sum()), int((kept & (correct == 1)).sum())
    return {"n": n, "correct": right, "accuracy": right / n if n else None}


SCHEMA = "thirdperson.reproduction/1"
PUBLISHED, RELEASED = "published", "released output"
_FIGURES = {
    "figure2": "Figure 2: certainty and accuracy with the whole persona",
    "figure3": "Figure 3: the same with fewer features",
}
_ABOUT_FIGURES = (
    "Answers of A or B by stated certainty in tens, clipped to 40–90 as in the paper; accuracy "
    "above each bar."
)


def cell_rows(
    recipe: Recipe,
    answers: Sequence[ModelAnswers],
    released: Sequence[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """One row per figure: published, counted from a released file, or from current answers.

    `released` are the cells of a replication, if a folder of released outputs was given.
    """
    printed = [
        _row(cell, cell["part"], PUBLISHED, cell["model"], cell) for cell in recipe.published
    ]
    rows = [*printed, *_released(released), *_now(recipe, answers)]
    tables, places = list(recipe.tables), _places(rows)
    return sorted(rows, key=lambda row: (tables.index(row["table"]), places[_place(row)]))


def _places(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], int]:
    """The table rows in order of first mention."""
    return {key: number for number, key in enumerate(dict.fromkeys(map(_place, rows)))}


def _place(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["table"], row["row"]


def _released(cells: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for cell in cells:
        if cell["computed"] is not None or cell["computed_n"] == 0:
            part = "overall" if cell["part"] == "average" else cell["part"]
            model = cell["column"].removesuffix(f" {part}")
            counts = {
                "accuracy": cell["computed"],
                "correct": cell["computed_correct"],
                "n": cell["computed_n"],
            }
            yield _row(cell, part, RELEASED, model, counts)


def _now(recipe: Recipe, answers: Sequence[ModelAnswers]) -> Iterator[dict[str, Any]]:
    by_question = {
        (a.question.data.key, a.question.ask.key, a.question.variant, a.model): a for a in answers
    }
    averaged: dict[tuple[str, str, str, str], list[float | None]] = {}
    sizes: dict[tuple[str, str], int] = {}
    for cell in recipe.cells:
        if cell.average:
            sizes[cell.table, cell.average] = sizes.get((cell.table, cell.average), 0) + 1
    for cell in recipe.cells:
        for (data, ask, variant, model), answer in by_question.items():
            if (data, ask) != (cell.data, cell.ask):
                continue
            counts = answer.rules[cell.rule][cell.part]
            source = recipe.variants[variant]
            yield _row({"table": cell.table, "row": cell.row}, cell.part, source, model, counts)
            if cell.average:
                key = (cell.table, cell.average, source, model)
                averaged.setdefault(key, []).append(counts["accuracy"])
    for (table, row, source, model), values in averaged.items():
        known = [value for value in values if value is not None]
        is_whole = len(known) == sizes[table, row]
        mean = sum(known) / len(known) if is_whole else None
        counts = {"accuracy": mean, "correct": None, "n": None}
        yield _row({"table": table, "row": row}, "overall", source, model, counts)


def _row(
    cell: Mapping[str, Any], part: str, source: str, model: str, counts: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "table": cell["table"],
        "row": cell["row"],
        "part": part,
        "source": source,
        "model": model,
        "accuracy": counts.get("accuracy"),
        "correct": counts.get("correct"),
        "n": counts.get("n"),
    }


def tables(recipe: Recipe, rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    """The tables of the recipe, with published figures above current ones in each row."""
    return [
        _table(name, title, [row for row in rows if row["table"] == name])
        for name, title in recipe.tables.items()
        if any(row["table"] == name for row in rows)
    ]


def _table(name: str, title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    parts = [part for part in ("overall", "high", "low") if any(r["part"] == part for r in rows)]
    by_row: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        by_row.setdefault((row["row"], row["source"], row["model"]), {})[row["part"]] = row
    columns = (
        TableColumn("Row"),
        TableColumn("Source"),
        TableColumn("Model"),
        *(TableColumn(part.capitalize(), "tally") for part in parts),
    )
    cells = [
        [*key, *(_counts(by_part.get(part)) for part in parts)] for key, by_part in by_row.items()
    ]
    return Table(name, title, columns, cells, _note(name))


def _counts(row: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: (row or {}).get(key) for key in NOTHING}


def _note(name: str) -> str:
    if name in ("table5", "table7"):
        return (
            "Only published figures: people's answers were not released, and 300 new items need "
            "annotators. Invite them to the OpinionQA study; its report compares both."
        )
    if name == "table1":
        return (
            "Without tie, a reply without a verdict is left out; with tie, it is wrong, as in the "
            "paper. Averages over the data sets above appear once all of them are answered."
        )
    return "High: a certainty at or above the threshold; an answer without one is low."


def persona_table(personas: Sequence[tuple[str, str, Sequence[str]]]) -> Table:
    """Table 6: the features in the paper, and those of the personas in the studies.

    `personas` are tuples of data set, variant and feature labels.
    """
    listed = [
        (s["row"].removeprefix("Features of a ").removeprefix("Features of an "), s["text"])
        for s in published()["statements"]
        if s["table"] == "table6"
    ]
    rows = [[title.removesuffix(" persona"), PUBLISHED, text] for title, text in listed]
    rows += [[title, source, ", ".join(labels)] for title, source, labels in personas]
    return Table(
        "table6",
        "Table 6: features of a persona",
        (TableColumn("Data"), TableColumn("Source"), TableColumn("Features")),
        rows,
    )


def charts(
    recipe: Recipe, answers: Sequence[ModelAnswers], released: Sequence[PaperFigure] = ()
) -> list[PaperFigure]:
    """The figures: a panel per model and question with a certainty.

    Panels of the `released` files, if there are any, come first.
    """
    figures = []
    for name, asks in recipe.figures.items():
        panels = tuple(
            replace(panel, title=f"{panel.title} · {RELEASED}")
            for chart in released
            if chart.name == name
            for panel in chart.panels
        )
        panels += tuple(
            Bars(_panel_title(recipe, one), _summary(one), one.bars)
            for one in answers
            if one.question.ask.key in asks and one.bars
        )
        if panels:
            figures.append(PaperFigure(name, panels, (_FIGURES.get(name, name), _ABOUT_FIGURES)))
    return figures


def _panel_title(recipe: Recipe, one: ModelAnswers) -> str:
    parts = [one.question.data.title, one.model, recipe.variants[one.question.variant]]
    if one.question.features != "all":
        parts.insert(2, one.question.features)
    return " · ".join(parts)


def _summary(one: ModelAnswers) -> str:
    counts = one.rules["drop_nonAB"]
    parts = [f"All {decimal(counts['overall']['accuracy'])}"]
    for band in ("high", "low"):
        part = counts[band]
        parts.append(
            f"{band.capitalize()} {decimal(part['accuracy'])} ({part['correct']}/{part['n']})"
        )
    return "<br>".join(parts)


def in_article(
    recipe: Recipe,
    answers: Sequence[ModelAnswers],
    variables: Mapping[tuple[str, str], Sequence[str]],
    *,
    simulated: bool,
) -> list[ArticleData]:
    """The answers as the runs of a data set and variant each, for the article's own layout.

    `variables` are the features of personas by data set and variant.
    """
    runs: dict[tuple[str, str], list[ArticleRun]] = {}
    for one in answers:
        question = one.question
        with_tie = question.ask.setting == "tie"
        counts = by_rule_counts(one.rules, with_tie=with_tie)
        run = ArticleRun(
            model=one.model,
            setting=question.ask.setting,
            features=question.features,
            offers_tie=with_tie,
            label=f"{question.ask.setting}, {one.answered:,} of {one.items:,} items",
            counts=counts if one.bars else ByCertainty(counts.overall),
            bars=() if with_tie else one.bars,
            unread=one.rules["all_rows"]["overall"]["n"] - one.rules["drop_nonAB"]["overall"]["n"],
        )
        # Without an answer, the run is missing.
        runs.setdefault((question.data.title, question.variant), [])
        if one.answered:
            runs[question.data.title, question.variant].append(run)
    several = len({variant for _, variant in runs}) > 1
    return [
        ArticleData(
            f"{title}, {recipe.variants[variant]}" if several else title,
            asked,
            variables=variables.get((title, recipe.variants[variant]), ()),
            is_simulated=simulated,
            threshold=recipe.threshold,
            fewer_features=FEWER_FEATURES.get(title),
        )
        for (title, variant), asked in runs.items()
    ]


def write_reproduction(
    result: Mapping[str, Any],
    tables: Sequence[Table],
    charts: Sequence[PaperFigure],
    article: Sequence[ArticleData],
    out: Path,
) -> list[Path]:
    """Write reproduction.json, reproduction.html, tables/ and article/ to `out`."""
    bars = [(chart.figure, bars_table(chart)) for chart in charts]
    page = render_document(
        "replication/reproduction.html",
        slug="reproduction",
        figures=[figure for figure, _ in bars],
        result=result,
        report={"study": {"simulated": result["simulated"]}},
        tables=[shown(table) for table in tables if table.name != "costs"],
        costs=shown(next(table for table in tables if table.name == "costs")),
        drawn=[(figure, shown(table)) for figure, table in bars],
    )
    written = [*tables, *(table for _, table in bars)]
    return write_output(out, "reproduction", result, page, written, article)
