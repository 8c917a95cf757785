"""Tables of a report, defined once for the page, the CSV files and the LaTeX files.

Cells keep raw values, which only the page and LaTeX round.
"""

import json
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from analysis.report import words
from analysis.report.quantities import Text, clause, fixed
from analysis.report.rules import SMALL, TOO_SMALL
from studies.money import format_cost

CellKind = Literal[
    "text",
    "count",
    "number",
    "decimal",
    "range",
    "percent",
    "points",
    "points_range",
    "percent_range",
    "share",
    "tally",
    "p",
    "money",
    "exact",
    "measure",
    "measure_range",
]

RANGES = {"range", "points_range", "percent_range", "measure_range"}
# The page shows at most this many rows at first, and of items fewer; its script shows more on
# request.
FIRST_ROWS = 100
FIRST_ITEMS = 20
SHADES = (0.5, 0.6, 0.7, 0.8)
LONG = 60  # characters

HIGH = "High: a certainty of at least the threshold."
CONDITIONAL = (
    "Italics: fewer than 30 answers. “too few”: fewer than 10. “–” (0/0): none. "
    "Accuracies in %, with correct/total; on the page and in the CSV with the 95 % interval too."
)


@dataclass(frozen=True)
class TableColumn:
    """A heading and the format of its cells; neighbours with the same `group` share a heading."""

    heading: str
    kind: CellKind = "text"
    group: str = ""
    currency_in: int | None = None  # position of the cell with the currency of an amount

    @property
    def is_text(self) -> bool:
        return self.kind == "text"

    @property
    def csv_names(self) -> list[str]:
        """Headings of this column's CSV columns."""
        [name] = csv_cells(f"{self.group} {self.heading}".strip(), "text")
        if self.kind == "share":
            parts = ("accuracy", "correct", "n", "low", "high")
            return [f"{name} {part}".strip() for part in parts]
        if self.kind == "tally":
            return [f"{name} {part}" for part in ("accuracy", "correct", "n")]
        if self.kind in RANGES:
            return [f"{name} low", f"{name} high"]
        if self.kind == "measure":
            return [name, f"{name} unit"]
        return [name]

    @property
    def csv_names_json(self) -> str:
        return compact(self.csv_names)


@dataclass(frozen=True)
class Cell:
    """A displayed cell:

    the figure, the text below it, and whether n is small. `shade` is 1 to 5 for accuracies from
    below 50 % to 80 % and more; 0 without an accuracy. `raw` is its content in a CSV file. `steps`
    has its values at other thresholds: the first threshold, n, correct, and the ends of the
    interval.
    """

    text: str
    below: tuple[str, ...] = ()
    small: bool = False
    is_text: bool = False
    shade: int = 0
    raw: tuple[Any, ...] = ()
    steps: tuple[tuple[Any, ...], ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether the cell has sentences, which need a wide column."""
        return self.is_text and len(self.text) > LONG

    @property
    def raw_json(self) -> str:
        return compact(self.raw)

    @property
    def steps_json(self) -> str:
        return compact(self.steps)


@dataclass(frozen=True)
class Table:
    """A table; `name` is its file name, `note` what readers need to know.

    A note with numbers of the report is made of quantities; other notes are fixed words.
    `threshold` is set if cells depend on the threshold: “80, registered” or “70, explored”.
    `family` is the name under which an analysis lists tables that exist per grouping. `is_record`
    marks records of what was done, as opposed to findings.
    """

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: Sequence[Sequence[Any]]
    note: Text | str = ""
    threshold: str = ""
    family: str = ""
    is_record: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.note, str) and self.note:
            object.__setattr__(self, "note", fixed(self.note))

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Headings that span neighbouring columns, with their widths; empty if there are none."""
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and spans[-1][0] == column.group and column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return spans if any(group for group, _ in spans) else []

    @property
    def cells(self) -> list[list[Cell]]:
        return list(self.each_row())

    def each_row(self, limit: int | None = None) -> Iterator[list[Cell]]:
        """The displayed rows one by one, or the first `limit` of them."""
        for row in self.rows[:limit]:
            yield [
                read(
                    value,
                    column.kind,
                    "USD" if column.currency_in is None else row[column.currency_in],
                )
                for value, column in zip(row, self.columns, strict=True)
            ]


@dataclass(frozen=True)
class ShownTable:
    """A table for the page, with the rows shown at first.

    `packed` has the first `n_packed` rows for the script, if there are more. `note` is what the
    page says below it.
    """

    table: Table
    limit: int = FIRST_ROWS
    packed: str = ""
    n_packed: int = 0
    note: str = ""

    @property
    def rows(self) -> list[list[Cell]]:
        return replace(self.table, rows=self.table.rows[: self.limit]).cells

    @property
    def is_cut(self) -> bool:
        return len(self.table.rows) > self.limit

    @property
    def n_here(self) -> int:
        """Rows that the page has, packed or not."""
        return max(self.n_packed, min(self.limit, len(self.table.rows)))


# Heading, kind, path of the value in the entry, and the heading above, if any.
EntryField = tuple[str, CellKind, str] | tuple[str, CellKind, str, str]


def table_of_entries(
    name: str,
    title: str,
    labelled: Sequence[tuple[str, Mapping[str, Any]]],
    fields: Sequence[EntryField],
    note: Text | str = "",
    *,
    first: str = "Run",
    is_record: bool = False,
) -> Table:
    """A table with one row per entry and one column per field."""
    columns = [
        TableColumn(first),
        *(TableColumn(f[0], f[1], f[3] if len(f) > 3 else "") for f in fields),
    ]
    rows = [[label, *(_dig(entry, field[2]) for field in fields)] for label, entry in labelled]
    return Table(name, title, tuple(columns), rows, note, is_record=is_record)


def as_best(report: Mapping[str, Any], words: str) -> str:
    """Words about the choice of the best run; empty if no run competes with another."""
    families = (entry["difference_general"]["family"] for entry in report["comparison"])
    return words if max(families, default=1) > 1 else ""


def in_general(side: Mapping[str, Any]) -> Mapping[str, Any]:
    """An accuracy with its one interval in the report.

    It allows for people, personas and questions in common and, for the best of several runs, for
    this choice.
    """
    return {**side, "ci": interval_of(side["clusters"])}


def interval_of(general: Mapping[str, Any]) -> Any:
    """The one interval of an accuracy or a difference in the report; None if it has none."""
    return general.get("ci_as_best") or general["ci"]


def without_interval(side: Mapping[str, Any]) -> Mapping[str, Any]:
    """An accuracy for a table that repeats it, so that it has one interval in the report."""
    return {**side, "ci": None}


def _dig(entry: Mapping[str, Any], path: str) -> Any:
    value: Any = entry
    for key in path.split("."):
        value = value[key]
    return value


def read(value: Any, kind: CellKind, currency: str = "USD") -> Cell:
    """Format a value for readers; `currency` is that of a sum of money."""
    if kind == "text":
        return _text(value)
    raw = tuple(csv_cells(value, kind))
    if kind == "share":
        return _share(value, raw)
    if value is None:
        return Cell("" if kind == "tally" else "–", raw=raw)
    if kind == "tally":
        return _tally(value, raw)
    if kind == "money":
        return Cell(format_cost(value, currency=currency), raw=raw)
    return Cell(_FORMS[kind](value), raw=raw)


@lru_cache(maxsize=10_000, typed=True)
def _text(value: Any) -> Cell:
    """A text, cached because most texts of many rows repeat."""
    raw = tuple(csv_cells(value, "text"))
    return Cell("–" if value is None else str(value), is_text=True, raw=raw)


_FORMS: Mapping[CellKind, Callable[[Any], str]] = {
    "count": lambda n: f"{n:,}",
    "number": words.number,
    "range": words.decimal_range,
    "points_range": words.points_range,
    "percent_range": words.percent_range,
    "percent": words.percent,
    "points": words.points,
    "decimal": words.decimal,
    "p": words.p_cell,
    "exact": str,
    "measure": lambda one: _MEASURES[one.unit].form.format(one),
    "measure_range": lambda one: str(clause("{x.ends}", x=one)),
}


class _Measure(NamedTuple):
    """The name of a unit in files, and how a table writes a quantity in it."""

    unit: str
    form: str


_MEASURES: Mapping[str, _Measure] = {
    "points": _Measure("points", "{} points"),
    "coefficient": _Measure("correlation", "ρ = {}"),
}


def _share(share: Mapping[str, Any], raw: tuple[Any, ...]) -> Cell:
    if share["n"] is None:  # not counted: a baseline, or a mean of other cells
        return Cell(
            words.percent(share["accuracy"]).removesuffix(" %"), (), share["small"], raw=raw
        )
    steps = tuple(
        (step["from"], step["n"], step["correct"], *(step["ends"] or ()))
        for step in share.get("tried", ())
    )
    counts = f"({share['correct']}/{share['n']})"
    if share["n"] == 0:
        return Cell("–", ("(0/0)",), raw=raw, steps=steps)
    if share["n"] < TOO_SMALL:
        return Cell("too few", (counts,), small=True, raw=raw, steps=steps)
    figure = f"{share['accuracy'] * 100:.1f}"
    below = [counts]
    if share["ci"] is not None:
        below.append(words.percent_range(share["ci"]))
    shade = 1 + bisect(SHADES, share["accuracy"])
    return Cell(figure, tuple(below), small=share["n"] < SMALL, shade=shade, raw=raw, steps=steps)


def _tally(share: Mapping[str, Any], raw: tuple[Any, ...]) -> Cell:
    """An accuracy and its counts in the style of a paper; any may be None.

    With `short`, it is written as the source article does: .703.
    """
    correct, n = ("?" if share[key] is None else share[key] for key in ("correct", "n"))
    counts = () if share["n"] is None else (f"({correct}/{n})",)
    figure = words.decimal(share["accuracy"])
    figure = figure.removeprefix("0") if share.get("short") else figure
    return Cell(figure, counts, bool(share.get("small")), raw=raw)


def csv_columns(table: Table) -> tuple[list[str], list[Sequence[Any]]]:
    """The headings of the CSV file, and the cells below each."""
    heading = [name for column in table.columns for name in column.csv_names]
    cells: list[Sequence[Any]] = []
    for place, column in enumerate(table.columns):
        values = [row[place] for row in table.rows]
        if len(column.csv_names) > 1:
            rows = [csv_cells(value, column.kind) for value in values]
            cells += ([row[part] for row in rows] for part in range(len(column.csv_names)))
        else:
            cells.append(["" if value is None else value for value in values])
    if table.threshold:
        heading, cells = [*heading, "threshold"], [*cells, [table.threshold] * len(table.rows)]
    return heading, cells


def csv_cells(value: Any, kind: CellKind) -> list[Any]:
    """The CSV cells of a value: at full precision, empty if undefined."""
    if kind == "share":
        low, high = value["ci"] or ("", "")
        accuracy = "" if value["accuracy"] is None else value["accuracy"]
        counts = ["" if value[key] is None else value[key] for key in ("correct", "n")]
        return [accuracy, *counts, low, high]
    if kind == "tally":
        cell = value or {}
        return ["" if cell.get(k) is None else cell[k] for k in ("accuracy", "correct", "n")]
    if kind == "measure":
        return [value.value, _MEASURES[value.unit].unit] if value is not None else ["", ""]
    if kind == "measure_range":
        return list(value.interval.ends or ("", "")) if value is not None else ["", ""]
    if kind in RANGES:
        return list(value) if value is not None else ["", ""]
    return ["" if value is None else value]


def compact(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
