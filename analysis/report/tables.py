"""Every table of a report, defined once: the page, the CSV files and the LaTeX files show these.

A cell keeps its raw value; rounding belongs to the two forms that people read.
"""

import csv
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from analysis.report import words
from analysis.report.words import SMALL, TOO_SMALL

Kind = Literal[
    "text", "count", "number", "decimal", "range", "percent", "points", "points_range",
    "percent_range", "share", "p", "money",
]  # fmt: skip

RANGES = {"range", "points_range", "percent_range"}
SHADES = (0.5, 0.6, 0.7, 0.8)

# What a spreadsheet would take for a formula; a quote in front makes it text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "−": "$-$",
    "≥": r"$\geq$",
    "×": r"$\times$",
    "\n": " ",
}


@dataclass(frozen=True)
class Column:
    """A heading and how its cells are read; neighbours of one `group` share a heading above."""

    heading: str
    kind: Kind = "text"
    group: str = ""

    @property
    def is_text(self) -> bool:
        return self.kind == "text"


@dataclass(frozen=True)
class Cell:
    """A cell as people read it: the figure, what stands below it, whether it is a small n.

    `shade` is 1 to 5 for an accuracy below 50 % to one of 80 % and more; 0 without an accuracy.
    """

    text: str
    below: tuple[str, ...] = ()
    small: bool = False
    is_text: bool = False
    shade: int = 0


@dataclass(frozen=True)
class Table:
    """A table; `name` is its file name, `note` says what a reader must know."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[Any]]
    note: str = ""

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Headings that span neighbouring columns, with how many; empty without any."""
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and spans[-1][0] == column.group and column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return spans if any(group for group, _ in spans) else []

    @property
    def cells(self) -> list[list[Cell]]:
        return [
            [read(value, column.kind) for value, column in zip(row, self.columns, strict=True)]
            for row in self.rows
        ]


def read(value: Any, kind: Kind) -> Cell:
    """A value as people read it."""
    if kind == "text":
        return Cell("–" if value is None else str(value), is_text=True)
    if kind == "share":
        return _share(value)
    if value is None:
        return Cell("–")
    if kind == "count":
        return Cell(f"{value:,}")
    if kind == "number":
        return Cell(f"{value:.1f}")
    forms: dict[str, Callable[[Any], str]] = {
        "range": words.decimal_range,
        "points_range": words.points_range,
        "percent_range": words.percent_range,
        "money": words.money,
        "percent": words.percent,
        "points": words.points,
        "decimal": words.decimal,
        "p": words.p_cell,
    }
    return Cell(forms[kind](value))


def _share(share: Mapping[str, Any]) -> Cell:
    counts = f"({share['correct']}/{share['n']})"
    if share["n"] == 0:
        return Cell("–", ("(0/0)",))
    if share["n"] < TOO_SMALL:
        return Cell("too few", (counts,), small=True)
    figure = f"{share['accuracy'] * 100:.1f}"
    below = [counts]
    if share["ci"] is not None:
        below.append(words.percent_range(share["ci"]))
    shade = 1 + bisect(SHADES, share["accuracy"])
    return Cell(figure, tuple(below), small=share["n"] < SMALL, shade=shade)


def write_tables(tables: Sequence[Table], folder: Path) -> None:
    """Write every table as CSV with raw values and as LaTeX with rounded ones."""
    folder.mkdir(parents=True)
    for table in tables:
        with (folder / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([name for column in table.columns for name in _csv_names(column)])
            for row in table.rows:
                writer.writerow(
                    [
                        cell
                        for value, column in zip(row, table.columns, strict=True)
                        for cell in _csv_cells(value, column.kind)
                    ]
                )
        (folder / f"{table.name}.tex").write_text(to_tex(table), encoding="utf-8")


def _csv_names(column: Column) -> list[str]:
    name = f"{column.group} {column.heading}".strip()
    if column.kind == "share":
        return [f"{name} {part}".strip() for part in ("accuracy", "correct", "n", "low", "high")]
    if column.kind in RANGES:
        return [f"{name} low", f"{name} high"]
    return [name]


def _csv_cells(value: Any, kind: Kind) -> list[Any]:
    if kind == "share":
        low, high = value["ci"] or ("", "")
        accuracy = "" if value["accuracy"] is None else value["accuracy"]
        return [accuracy, value["correct"], value["n"], low, high]
    if kind in RANGES:
        return list(value) if value is not None else ["", ""]
    if value is None:
        return [""]
    if isinstance(value, str) and value.startswith(_FORMULA):
        return [f"'{value}"]
    return [value]


def to_tex(table: Table) -> str:
    """The table for a paper: booktabs, small cells in italics, the note as a comment."""
    layout = "".join("l" if column.is_text else "r" for column in table.columns)
    lines = [f"% {line}" for line in (table.title, *table.note.splitlines()) if line]
    lines += [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    if table.groups:
        spans = (rf"\multicolumn{{{n}}}{{c}}{{{tex(group)}}}" for group, n in table.groups)
        lines.append(" & ".join(spans) + r" \\")
    lines.append(" & ".join(tex(column.heading) for column in table.columns) + r" \\")
    lines.append(r"\midrule")
    for row in table.cells:
        lines.append(" & ".join(_tex_cell(cell) for cell in row) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines)


def _tex_cell(cell: Cell) -> str:
    figure = rf"\textit{{{tex(cell.text)}}}" if cell.small else tex(cell.text)
    return f"{figure} {tex(cell.below[0])}" if cell.below else figure


def tex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_TEX.get(sign, sign) for sign in text)
