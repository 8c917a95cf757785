"""Compare a folder of released results with the paper: tables, figures, files.

Figures 2 and 3 have one panel per file. Bars are as in the paper: tens, clipped to 40–90, right
answers below and wrong ones on top, accuracy above. Certainty on another scale keeps that scale.
The page, the saved files and the terminal show the same tables.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.lifecycle.storage import check_output_folder, holds
from analysis.report.added_files import ARTICLE_WRITERS
from analysis.report.article import ArticleData, bars_panel
from analysis.report.figures import RIGHT_AND_WRONG, Figure
from analysis.report.quantities import fixed
from analysis.report.render import render_document, shown
from analysis.report.report_json import to_json
from analysis.report.table_files import to_text, write_tables
from analysis.report.tables import Table, TableColumn
from analysis.report.words import decimal
from extras.replication.released.article import certainty_bars, in_article
from extras.replication.released.cells import (
    OUTCOMES,
    TITLES,
    check_printed,
    compare_cells,
    published,
)
from extras.replication.released.result_files import (
    NothingToReplicate,
    ReleasedAnswer,
    ResultName,
    UnreadableFile,
    describe,
    has_certainty,
    has_hundred_scale,
    read_rows,
    share,
)
from studies.statements import clock


def check_output(out: Path, name: str) -> None:
    """Raise `ForeignFiles` if the folder `out` has files with these names from another source."""
    names = (f"{name}.json", f"{name}.html", "tables", "article")
    check_output_folder(out, names, is_ours=holds(out, name))


def write_output(
    out: Path,
    name: str,
    result: Mapping[str, Any],
    page: str,
    tables: Sequence[Table],
    article: Sequence[ArticleData],
) -> list[Path]:
    """Write all files to the folder `out`, creating it if necessary, and return the paths.

    The folder of tables is replaced, and so is that of the article's own tables and figures.
    """
    out.mkdir(parents=True, exist_ok=True)
    content, html, folder = out / f"{name}.json", out / f"{name}.html", out / "tables"
    content.write_text(to_json(result), encoding="utf-8")
    html.write_text(page, encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    write_tables(tables, folder)
    drawn = [
        path
        for writer in (ARTICLE_WRITERS if article else ())
        for path in writer.write(article, out / "article", date=clock.now().date())
    ]
    return [content, html, *sorted(folder.iterdir()), *drawn]


FIGURE_TITLES = {
    "figure2": (
        "Figure 2: certainty and accuracy with the whole persona",
        "Answers of A or B by stated certainty in tens, clipped to 40–90 as in the paper; "
        "accuracy above each bar. Only the files in the folder.",
    ),
    "figure3": (
        "Figure 3: the same with fewer features, or without a persona",
        "Prompts that asked for certainty from 1 to 5 keep that scale.",
    ),
}


@dataclass(frozen=True)
class Bars:
    """The bars of one file (label, right and wrong answers) and the text in the corner."""

    title: str
    summary: str
    bars: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class PaperFigure:
    """A figure of the paper and its panels; `words` replace its title and caption."""

    name: str
    panels: tuple[Bars, ...]
    words: tuple[str, str] | None = None

    @property
    def title(self) -> str:
        return (self.words or FIGURE_TITLES[self.name])[0]

    @property
    def figure(self) -> Figure:
        """The figure as the report draws it."""
        title, caption = self.words or FIGURE_TITLES[self.name]
        return Figure(
            self.name,
            fixed(title),
            fixed(caption),
            self.name,
            [bars_panel(panel.title, panel.bars, note=panel.summary) for panel in self.panels],
            key=RIGHT_AND_WRONG,
        )


def charts(files: Mapping[str, Sequence[ReleasedAnswer]]) -> tuple[PaperFigure, ...]:
    """Figure 2 (whole personas) and Figure 3 (fewer or no features), if files for them exist."""
    panels: dict[str, list[Bars]] = {name: [] for name in FIGURE_TITLES}
    for file, rows in files.items():
        name = ResultName.parse(file)
        if name is None or name.with_tie or not any(has_certainty(row) for row in rows):
            continue
        whole = name.with_persona and name.features == "All features"
        counted = [row for row in rows if row.answer in ("A", "B")]
        panels["figure2" if whole else "figure3"].append(
            Bars(name.title, _summary(counted), certainty_bars(rows))
        )
    return tuple(PaperFigure(name, tuple(bars)) for name, bars in panels.items() if bars)


def bars_table(chart: PaperFigure) -> Table:
    """The numbers of a figure as a table."""
    rows = [
        [panel.title, label, right, wrong, right / (right + wrong)]
        for panel in chart.panels
        for label, right, wrong in panel.bars
    ]
    columns = (
        TableColumn("File"),
        TableColumn("Certainty"),
        TableColumn("Right", "count"),
        TableColumn("Wrong", "count"),
        TableColumn("Accuracy", "decimal"),
    )
    return Table(chart.name, chart.title, columns, rows)


def _summary(rows: Sequence[ReleasedAnswer]) -> str:
    overall = share(rows)
    if not all(has_hundred_scale(row) for row in rows):
        scale = max(row.scale or 100 for row in rows)
        return f"All {decimal(overall['accuracy'])}<br>certainty from 1 to {scale}: no band at 80"
    parts = [f"All {decimal(overall['accuracy'])}"]
    for band, high in (("High", True), ("Low", False)):
        part = share(row for row in rows if ((row.certainty or 0) >= 80) == high)
        parts.append(f"{band} {decimal(part['accuracy'])} ({part['correct']}/{part['n']})")
    return "<br>".join(parts)


OWN_FRACTION = {True: "agrees", False: "contradicts", None: ""}
EMPTY = {"accuracy": None, "correct": None, "n": None}


def all_tables(result: Mapping[str, Any], charts: Iterable[PaperFigure]) -> dict[str, Table]:
    """All non-empty tables by name."""
    tables = [files(result["files"])]
    tables += [compared(result["cells"], name) for name in TITLES]
    tables.append(printed(result["printed"]))
    tables += [bars_table(chart) for chart in charts]
    return {table.name: table for table in tables if table.rows}


def files(described: Mapping[str, Mapping[str, Any]]) -> Table:
    rows = [
        [
            name,
            file["rows"],
            *(file["answers"][key] for key in ("A", "B", "C", "unparseable")),
            *(file[key] for key in ("parsed", "all_rows")),
            *(EMPTY if file[f"{band}_reason"] else file[band] for band in ("high", "low")),
            file["no_certainty"],
        ]
        for name, file in described.items()
    ]
    columns = (
        TableColumn("File"),
        TableColumn("Rows", "count"),
        TableColumn("A", "count"),
        TableColumn("B", "count"),
        TableColumn("Tie", "count"),
        TableColumn("No verdict", "count"),
        TableColumn("With a verdict", "tally"),
        TableColumn("All rows", "tally"),
        TableColumn("High", "tally"),
        TableColumn("Low", "tally"),
        TableColumn("No certainty", "count"),
    )
    return Table(
        "files",
        "Contents of each file",
        columns,
        rows,
        "Accuracy, with right answers of all below it. Over all rows, a reply without a verdict "
        "is wrong. High is a certainty of 80 or more; a missing certainty, or one on another "
        "scale than 1 to 100, is neither high nor low.",
    )


def compared(cells: Sequence[Mapping[str, Any]], name: str) -> Table:
    """Published values next to computed ones, for one of the paper's tables."""
    rows = [
        [
            cell["row"],
            cell["column"],
            _tally(cell, "published"),
            OWN_FRACTION[cell["own_fraction"]],
            "" if cell["notebook_n"] is None else _notebook(cell),
            _tally(cell, "computed"),
            OUTCOMES[cell["outcome"]],
            " ".join(filter(None, (cell["own_fraction_why"], cell["why"]))),
        ]
        for cell in cells
        if cell["table"] == name
    ]
    columns = (
        TableColumn("Row"),
        TableColumn("Column"),
        TableColumn("Published", "tally"),
        TableColumn("Own fraction"),
        TableColumn("Notebook"),
        TableColumn("Computed", "tally"),
        TableColumn("Outcome"),
        TableColumn("Why"),
    )
    return Table(
        name,
        TITLES[name],
        columns,
        rows,
        "Own fraction: whether the printed accuracy equals the fraction printed next to it. "
        "Notebook: the value in the authors' released notebook. No file here: the folder lacks "
        "it. Not released: no file has this cell. With tie, and in two cells of Table 4 (GPT-4, "
        "three features, high; least important feature, low), a reply without a verdict is "
        "wrong; elsewhere only answers of A and B count, as in the paper.",
    )


def _notebook(cell: Mapping[str, Any]) -> str:
    return f"{decimal(cell['notebook'])} of {cell['notebook_n']:,}"


def _tally(cell: Mapping[str, Any], side: str) -> dict[str, Any]:
    return {
        "accuracy": cell[side],
        "correct": cell[f"{side}_correct"],
        "n": cell[f"{side}_n"],
    }


def printed(checks: Iterable[Mapping[str, Any]]) -> Table:
    marks = {True: "holds", False: "does not hold", None: ""}
    rows = [
        [
            check["table"].replace("table", "Table "),
            check["row"],
            check["printed"],
            marks[check["holds"]],
            check["why"],
        ]
        for check in checks
    ]
    columns = (
        TableColumn("Table"),
        TableColumn("Statement"),
        TableColumn("Published"),
        TableColumn("Arithmetic"),
        TableColumn("Why"),
    )
    return Table("printed", "Other statements of the paper", columns, rows)


def verdict(cells: Sequence[Mapping[str, Any]]) -> str:
    """The outcome in two sentences.

    >>> cells = [
    ...     {"outcome": "equal", "published": 0.5, "own_fraction": True},
    ...     {"outcome": "different", "published": 0.6, "own_fraction": False},
    ...     {"outcome": "no_output", "published": 0.7, "own_fraction": None},
    ... ]
    >>> print(verdict(cells))
    3 published cells: 1 equal, 1 different, 0 without their file in the folder, 1 without a \
released output. 1 of 2 printed accuracies with a fraction contradicts it.
    """
    count = Counter(cell["outcome"] for cell in cells)
    fractions = Counter(cell["own_fraction"] for cell in cells)
    contradicting = fractions[False]
    return (
        f"{len(cells) - count['unpublished']} published cells: {count['equal']} equal, "
        f"{count['different']} different, {count['absent']} without their file in the folder, "
        f"{count['no_output']} without a released output. "
        f"{contradicting} of {contradicting + fractions[True]} printed accuracies with a fraction "
        f"contradict{'s' if contradicting == 1 else ''} it."
    )


def as_text(result: Mapping[str, Any]) -> str:
    """Files, compared cells and arithmetic checks, one table each."""
    parts = [to_text(table) for table in all_tables(result, ()).values()]
    for entry in result["skipped"]:
        parts.append(f"Skipped {entry['file']}: {entry['why']}.\n".replace("..\n", ".\n"))
    return "\n".join([*parts, verdict(result["cells"])])


SCHEMA = "thirdperson.replication/1"


@dataclass(frozen=True)
class Replication:
    """The result of a replication.

    Attributes
    ----------
    result : mapping
        The content of replication.json.
    charts : tuple of PaperFigure
        Figures 2 and 3.
    unreadable : tuple of str
        Messages about files that are named like results but cannot be read.
    article : sequence of ArticleData
        The files as data sets, for the article's own layout.
    """

    result: Mapping[str, Any]
    charts: tuple[PaperFigure, ...]
    unreadable: tuple[str, ...]
    article: Sequence[ArticleData] = ()


def find_files(folder: Path) -> list[Path]:
    """A folder's files in order of name. Raises `NothingToReplicate`."""
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise NothingToReplicate(
            f"{folder} cannot be read: {error.strerror}. "
            "Give the folder with the released result files."
        ) from error
    if not any(ResultName.parse(path.name) for path in files):
        raise NothingToReplicate(
            f"{folder} has no released result files. Their names begin with ap_, ec_, prism_ "
            "or opinionqa_ and end in .jsonl, for example prism_all_features_gpt-4o.jsonl."
        )
    return files


def replicate(files: Sequence[Path], *, on_file: Callable[[], None] = lambda: None) -> Replication:
    """Recount the released files among `files` and compare them with the published cells.

    Files with other names are skipped and listed. A file that is named like a result but cannot be
    read is listed too, and the others are still compared. `on_file` is called after each file.
    """
    rows, skipped, unreadable = {}, [], []
    for path in files:
        if ResultName.parse(path.name) is None:
            skipped.append({"file": path.name, "why": "not named like a released result"})
        else:
            try:
                rows[path.name] = read_rows(path)
            except UnreadableFile as error:
                unreadable.append(str(error))
                skipped.append({"file": path.name, "why": str(error)})
        on_file()
    described = {name: describe(content) for name, content in rows.items()}
    result = {
        "schema": SCHEMA,
        "paper": published()["paper"],
        "files": described,
        "cells": compare_cells(described),
        "printed": check_printed(),
        "skipped": skipped,
    }
    return Replication(result, charts(rows), tuple(unreadable), in_article(rows))


def write_replication(replication: Replication, out: Path) -> list[Path]:
    """Write replication.json, replication.html, tables/ and article/ to `out`; return the paths."""
    tables = all_tables(replication.result, replication.charts)
    page = render_document(
        "replication/replication.html",
        slug="replication",
        figures=[chart.figure for chart in replication.charts],
        result=replication.result,
        verdict=verdict(replication.result["cells"]),
        files=shown(tables["files"]),
        cells=[shown(tables[name]) for name in TITLES if name in tables],
        printed=shown(tables["printed"]),
        drawn=[(chart.figure, shown(tables[chart.name])) for chart in replication.charts],
    )
    written = list(tables.values())
    return write_output(out, "replication", replication.result, page, written, replication.article)
