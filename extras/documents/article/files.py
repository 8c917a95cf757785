"""Figures 2 and 3 of the source article, and all its tables and figures as files and as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date as Date
from pathlib import Path

from analysis.report.article import ArticleData, ArticleRun, ByCertainty, bars_panel, short_share
from analysis.report.figures import RIGHT_AND_WRONG, Figure
from analysis.report.quantities import fixed
from analysis.report.render import render_document, shown
from analysis.report.table_files import write_tables
from analysis.report.tables import Table, TableColumn
from analysis.report.words import features_words
from extras.documents.article.tables import (
    ArticleTable,
    article_tables,
    feature_sets,
    find_run,
    models_of,
)
from extras.documents.pictures import write_picture

CAPTION = (
    "Answers by stated certainty in tens, clipped to 40–90; accuracy above each bar. High: a "
    "certainty at the threshold or above it."
)
MOST_COLUMNS = 4
WRITTEN = ("article.html", "table_[1-8]*.*", "figure_[23].*", "all.tex", "all.xlsx")


@dataclass(frozen=True)
class ArticleFigure:
    """One picture with a panel per run; `columns` panels make a row."""

    figure: Figure
    table: Table
    columns: int


def article_figures(data: Sequence[ArticleData]) -> list[ArticleFigure]:
    """Figure 2 (models × data sets) and Figure 3 (models × features), if runs for them exist."""
    return [*_figure("figure_2", data), *_figure("figure_3", data)]


def _figure(name: str, data: Sequence[ArticleData]) -> Iterator[ArticleFigure]:
    panels = list(_whole(data) if name == "figure_2" else _fewer(data))
    if not panels:
        return
    simulated = "Simulated data. " if any(one.is_simulated for one in data) else ""
    what = {
        "figure_2": "certainty and accuracy with the whole persona",
        "figure_3": "certainty and accuracy with fewer features of the persona",
    }[name]
    of_one = f", {data[0].title}" if len(data) == 1 else ""  # panels name one of several
    title = f"Figure {name[-1]}. {simulated}{what[:1].upper()}{what[1:]}{of_one}"
    rows = [
        [head, label, right, wrong, right / (right + wrong)]
        for head, run in panels
        for label, right, wrong in run.bars
    ]
    columns = (
        TableColumn("Panel"),
        TableColumn("Certainty from"),
        TableColumn("Right", "count"),
        TableColumn("Wrong", "count"),
        TableColumn("Accuracy", "decimal"),
    )
    figure = Figure(
        name,
        fixed(title),
        fixed(CAPTION),
        name,
        [bars_panel(head, run.bars, note=corner(run.counts)) for head, run in panels],
        key=RIGHT_AND_WRONG,
    )
    yield ArticleFigure(figure, Table(name, title, columns, rows), _in_a_row(name, data))


def _whole(data: Sequence[ArticleData]) -> Iterator[tuple[str, ArticleRun]]:
    for dataset in data:
        for model in models_of(data):
            run = find_run(dataset, model, certain=True)
            if run and run.bars:
                yield f"{dataset.title} · {model}" if len(data) > 1 else model, run


def _fewer(data: Sequence[ArticleData]) -> Iterator[tuple[str, ArticleRun]]:
    for dataset in data:
        sets = feature_sets(dataset)
        for model in models_of([dataset]):
            runs = [(name, find_run(dataset, model, features=name, certain=True)) for name in sets]
            drawn = [(name, run) for name, run in runs if run and run.bars]
            before = f"{dataset.title} · {model}" if len(data) > 1 else model
            # A model that saw only whole personas belongs to Figure 2 alone.
            for name, run in drawn if any(name != "all" for name, _ in drawn) else ():
                shown_features = "all features" if name == "all" else features_words(name)
                yield f"{before} · {shown_features}", run


def _in_a_row(name: str, data: Sequence[ArticleData]) -> int:
    """Models in a row for Figure 2, sets of features for Figure 3, as long as they fit."""
    widths = [len(models_of(data))]
    if name == "figure_3":
        widths = [len(feature_sets(one)) for one in data]
    return min(max(widths, default=1), MOST_COLUMNS)


def corner(counts: ByCertainty) -> str:
    """Overall, high and low accuracy, a line each."""
    parts = (("All", counts.overall), ("High", counts.high), ("Low", counts.low))
    return "<br>".join(
        f"{label} {short_share(part.accuracy)} ({part.correct}/{part.n})"
        for label, part in parts
        if part is not None
    )


def write_article(data: Sequence[ArticleData], folder: Path, *, date: Date) -> list[Path]:
    """Write tables and figures of the article to `folder`, replacing old ones; return the paths.

    Tables are CSV, LaTeX, Markdown and one workbook, figures SVG and PNG with 300 dots per inch,
    and `article.html` shows them all.
    """
    for pattern in WRITTEN:
        for path in folder.glob(pattern):
            path.unlink()
    tables, figures = article_tables(data), article_figures(data)
    write_tables(
        [*(figure.table for figure in tables), *(figure.table for figure in figures)], folder
    )
    for figure in figures:
        write_picture(figure.figure, folder, columns=figure.columns, title=str(figure.figure.title))
    page = render_article(data, tables, figures, date=date)
    (folder / "article.html").write_text(page, encoding="utf-8")
    return sorted(path for pattern in WRITTEN for path in folder.glob(pattern))


def render_article(
    data: Sequence[ArticleData],
    tables: Sequence[ArticleTable],
    figures: Sequence[ArticleFigure],
    *,
    date: Date,
) -> str:
    """The page with all tables and figures, and a link for each run that is missing."""
    return render_document(
        "documents/article.html",
        slug=data[0].slug if len(data) == 1 else "article",
        figures=[figure.figure for figure in figures],
        titles=[one.title for one in data],
        tables=[(shown(table.table), table.missing) for table in tables],
        drawn=[(figure.figure, shown(figure.table)) for figure in figures],
        is_simulated=any(one.is_simulated for one in data),
        made_on=date,
    )
