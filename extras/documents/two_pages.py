"""Paper mode: a report on two A4 pages, with its figures as files for an article.

Verdict, three finished figures, Tables A and B, methods, limits and BibTeX. Everything else is in
the report itself. The page has no script; its figures are pictures inside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import plotly.graph_objects as go
from django.template.loader import render_to_string

from analysis.report.added_files import MadeReport
from analysis.report.citation import bibtex, methods_paragraph
from analysis.report.figures import Figure, FigurePanel
from analysis.report.render import style_of
from analysis.report.sections.glance.accuracies import forest
from analysis.report.tables import Cell, Table
from analysis.report.verdict.first_screen import verdict_of
from analysis.report.words import run_names, whole_runs
from extras.documents.pictures import write_picture

# The figures in order of preference, the first of each group that a report has. The last is wide.
FIGURES = (
    ("accuracy", "sheets"),
    ("risk_coverage", "certainty_curves", "position"),
    ("histograms", "reliability"),
)
# Panels in a row, by their number, so that no row is half empty; and the pixels of a figure that
# has half or all of the page's width.
IN_A_ROW, MOST_IN_A_ROW, HALF, WIDE = {4: 2}, 3, 430, 900
# A figure of half the width is this high at most with its key, so that letters need not shrink.
HIGHEST, KEY_LINE = 330, 22
MOST_RUNS, MOST_PANELS, MOST_ROWS, MOST_SIDES = 5, 6, 6, 4


@dataclass(frozen=True)
class PaperPicture:
    """A figure on the page: its picture as a data address, and how many panels are left out."""

    figure: Figure
    picture: str
    is_wide: bool
    left_out: int


def write_two_pages(built: MadeReport, folder: Path) -> None:
    """Write `paper.html`, and its figures as SVG and PNG of 300 dots per inch, to a new folder."""
    folder.mkdir(parents=True)
    report = built.content
    accuracies = forest(_first_runs(report))
    drawn = {**built.figures, **({"accuracy": accuracies} if accuracies else {})}
    pictures = list(_pictures(report, drawn, folder))
    page = render_to_string(
        "documents/paper.html",
        {
            "report": report,
            "style": style_of("paper"),
            "verdict": verdict_of(report),
            "pictures": pictures,
            "tables": list(_tables(report, built.tables)),
            "methods": methods_paragraph(report),
            "bibtex": bibtex(report, built.date),
            "date": built.date,
        },
    )
    (folder / "paper.html").write_text(page, encoding="utf-8")


def _first_runs(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report with a few runs that saw the whole persona, for a figure with a row for each."""
    kept = whole_runs(report)[:MOST_RUNS]
    return {**report, "judges": [report["judges"][index] for index in kept]}


def _pictures(
    report: Mapping[str, Any], figures: Mapping[str, Figure], folder: Path
) -> Iterator[PaperPicture]:
    title = "Simulated data" if report["study"]["simulated"] else ""
    chosen = [next((one for one in group if one in figures), "") for group in FIGURES]
    *halves, wide = chosen
    # A figure that would have half a row to itself takes all of it.
    alone = [name for name in halves if name] if halves.count("") == len(halves) - 1 else []
    for name in filter(None, chosen):
        is_wide = name in (wide, *alone)
        whole = figures[name]
        kept = whole.panels[:MOST_PANELS]
        columns = IN_A_ROW.get(len(kept), MOST_IN_A_ROW) if name == wide else 1
        if name != wide:
            high = HIGHEST - KEY_LINE * len(whole.key)
            kept = [_at_most(high, panel) for panel in kept]
        figure = replace(whole, panels=kept)
        width = WIDE if is_wide else HALF
        write_picture(figure, folder, columns=columns, width=width, title=title)
        svg = (folder / f"{name}.svg").read_bytes()
        address = f"data:image/svg+xml,{quote(svg, safe=_UNQUOTED)}"
        left = len(whole.panels) - len(figure.panels)
        yield PaperPicture(figure, address, is_wide=is_wide, left_out=left)


def _at_most(high: int, panel: FigurePanel) -> FigurePanel:
    height = min(panel.height, high)
    return replace(panel, drawing=go.Figure(panel.drawing).update_layout(height=height))


# Characters that an address within quotes may have as they are; percent-codes compress badly.
_UNQUOTED = " /:=;,.-_()'+*!?@$|[]{}~\n\t"


@dataclass(frozen=True)
class PaperTable:
    """A table with the rows that fit on the page; `left_out` says in words what does not."""

    table: Table
    left_out: str


def _says_much(cells: Sequence[Cell]) -> bool:
    return any(cell.text not in ("too few", "–") for cell in cells[1:])


def _tables(report: Mapping[str, Any], tables: Mapping[str, Table]) -> Iterator[PaperTable]:
    names = run_names(report)
    whole = {"People", *(names[index] for index in whole_runs(report))}
    for name in ("table_a", "table_b"):
        if name not in tables or not any(_says_much(cells) for cells in tables[name].cells):
            continue
        table = tables[name]
        sides = list(dict.fromkeys(c.group for c in table.columns if c.group))[:MOST_SIDES]
        places = [at for at, c in enumerate(table.columns) if not c.group or c.group in sides]
        # Topics with few answers, and runs that saw less of the persona, are in the report.
        rows = [
            row
            for number, (row, cells) in enumerate(zip(table.rows, table.cells, strict=True))
            if row[0] in whole or (name == "table_a" and (not number or _says_much(cells)))
        ]
        cut = replace(
            table,
            columns=tuple(table.columns[at] for at in places),
            rows=[[row[at] for at in places] for row in rows[:MOST_ROWS]],
        )
        more = len(table.rows) - len(cut.rows), len(table.columns) - len(cut.columns)
        words = [f"{n} more {what}" for n, what in zip(more, ("rows", "columns"), strict=True) if n]
        yield PaperTable(cut, " and ".join(words))
