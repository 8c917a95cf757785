"""Heat maps of topics and persona features, in points from each side's overall accuracy."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.figures import (
    Figure,
    Key,
    Panel,
    axis,
    bar_trace,
    panel,
    plain,
    scatter_trace,
    stripes,
)
from analysis.report.rules import SMALL, TOO_SMALL
from analysis.report.section import ReportJson, Section
from analysis.report.sentences import GROUPS, TOPICS, holds, level_of, members
from analysis.report.words import points, run_names, whole_runs

# From far below to far above, with readable text on every colour.
SCALE = (
    (-0.15, "#F59A63", "15 points or more below"),
    (-0.05, "#FAD3BC", "5 to 15 below"),
    (0.05, "#F1F3F4", "within 5"),
    (0.15, "#C5DCEC", "5 to 15 above"),
    (1.01, "#8FBAD9", "15 points or more above"),
)


EMPTY = "#FFFFFF"


ROW_HEIGHT = 36


CELL = (0.96, 0.94)  # width and height


WRAP = 11


MOST_ROWS = 20


@dataclass(frozen=True)
class HeatRow:
    """A group of items: name, position in the page's filters, and a cell per side."""

    name: str
    group: str
    cells: Sequence[ReportJson]
    gaps: Sequence[float | None]

    @property
    def people(self) -> float:
        return self.gaps[0] if self.gaps[0] is not None else 0.0


def topics(report: ReportJson) -> Figure | None:
    tables = [(n, table) for n, table in enumerate(report["groups"]) if table["by"] == "topic"]
    return _figure(report, "heat_topics", tables, "topics", "group_1")


def persona_features(report: ReportJson) -> Figure | None:
    tables = [(n, table) for n, table in enumerate(report["groups"]) if table["by"] == "feature"]
    return _figure(report, "heat_personas", tables, "features of the persona", "personas")


def _figure(
    report: ReportJson, name: str, tables: Sequence[tuple[int, ReportJson]], what: str, numbers: str
) -> Figure | None:
    names, shown = run_names(report), whole_runs(report)
    sides = [report["human"]["majority"], *(report["judges"][index] for index in shown)]
    heads = ["People", *(names[index].removesuffix(" (whole persona)") for index in shown)]
    rows = [row for number, table in tables for row in _rows(report, number, table, shown, sides)]
    if not rows or all(gap is None for row in rows for gap in row.gaps):
        return None
    parts = [rows[start : start + MOST_ROWS] for start in range(0, len(rows), MOST_ROWS)]
    return Figure(
        name,
        _title(report, TOPICS if name == "heat_topics" else GROUPS, what),
        "Accuracy in percentage points above or below each side's own over all items, with the "
        "number of items that it decided; hardest for people first. Hatched: fewer than "
        f"{SMALL}; white: fewer than {TOO_SMALL}. Select a cell, or a name in the tables below, "
        "to see its items.",
        numbers,
        [_panel(part, heads, what) for part in parts],
        key=[
            *(Key(words, colour) for _, colour, words in SCALE),
            Key(f"fewer than {SMALL} items", "#9aa7b2", "stripes"),
        ],
        is_stacked=len(parts) > 1,
    )


def _panel(rows: Sequence[HeatRow], heads: Sequence[str], what: str) -> Panel:
    """A panel with the rows that fit on a printed page."""
    words = (
        f"{row.name}: "
        + ", ".join(
            f"{head} {points(gap)} (n {cell['n']})"
            for head, gap, cell in zip(heads, row.gaps, row.cells, strict=True)
        )
        for row in rows
    )
    return panel(
        "",
        f"Accuracy by {what}, as points from each side's own overall accuracy. " + "; ".join(words),
        [
            *(_column(rows, index) for index in range(len(heads))),
            _hatching(rows, len(heads)),
            _words(rows, len(heads)),
        ],
        height=70 + ROW_HEIGHT * len(rows),
        margin={"l": 8, "r": 8, "t": 56, "b": 8},
        barmode="overlay",
        xaxis=axis(
            tickvals=list(range(len(heads))),
            ticktext=[_wrapped(head) for head in heads],
            range=[-0.5, len(heads) - 0.5],
            side="top",
            showgrid=False,
            tickfont={"size": 11},
            ticklen=0,
        ),
        yaxis=axis(
            tickvals=list(range(len(rows))),
            ticktext=[plain(textwrap.shorten(row.name, 26, placeholder="…")) for row in rows],
            range=[len(rows) - 0.5, -0.5],
            showgrid=False,
            tickfont={"size": 11},
        ),
    )


def _rows(
    report: ReportJson,
    number: int,
    table: ReportJson,
    shown: Sequence[int],
    sides: Sequence[ReportJson],
) -> list[HeatRow]:
    """Rows of one grouping, hardest for annotators first."""
    found = []
    for code, row in enumerate(table["rows"]):
        cells = [row["people"], *(row["judges"][index] for index in shown)]
        gaps = [
            cell["accuracy"] - side["accuracy"] if cell["n"] >= TOO_SMALL else None
            for cell, side in zip(cells, sides, strict=True)
        ]
        value = row["value"] or "(not said)"
        name = value if table["by"] == "topic" else f"{table['label']}: {value}"
        found.append(HeatRow(name, f"{number}.{code}", cells, gaps))
    return sorted(found, key=lambda row: row.people)


def _column(rows: Sequence[HeatRow], index: int) -> dict[str, Any]:
    """One side's cells: bars of equal length, starting after the previous column."""
    return bar_trace(
        orientation="h",
        x=[CELL[0]] * len(rows),
        y=list(range(len(rows))),
        base=[index - CELL[0] / 2] * len(rows),
        width=CELL[1],
        marker={"color": [_colour(row.gaps[index]) for row in rows], "line": {"width": 0}},
        text=[_cell(row, index) for row in rows],
        textposition="none",
        customdata=[row.group for row in rows],
        hovertemplate="%{text}<extra></extra>",
    )


def _hatching(rows: Sequence[HeatRow], columns: int) -> dict[str, Any]:
    """Stripes over the cells of fewer than 30 items."""
    across, down = CELL[0] / 2, CELL[1] / 2
    return stripes(
        (
            (index - across, index + across, number - down, number + down)
            for number, row in enumerate(rows)
            for index in range(columns)
            if row.gaps[index] is not None and row.cells[index]["n"] < SMALL
        ),
        rise=3.6,
        step=0.3,
    )


def _words(rows: Sequence[HeatRow], columns: int) -> dict[str, Any]:
    """The text in the cells, on top of the stripes."""
    places = [(index, number) for number in range(len(rows)) for index in range(columns)]
    return scatter_trace(
        x=[index for index, _ in places],
        y=[number for _, number in places],
        mode="text",
        text=[_cell(rows[number], index) for index, number in places],
        textfont={"size": 11, "color": "#0b0c0c"},
        hoverinfo="skip",
    )


def _cell(row: HeatRow, index: int) -> str:
    return f"{points(row.gaps[index])}<br>n {row.cells[index]['n']}"


def _colour(gap: float | None) -> str:
    if gap is None:
        return EMPTY
    return next(colour for limit, colour, _ in SCALE if gap < limit or limit > 1)


def _wrapped(head: str) -> str:
    lines = textwrap.wrap(head, WRAP, max_lines=3, placeholder="…")
    return "<br>".join(plain(line) for line in lines)


def _title(report: ReportJson, kind: str, what: str) -> str:
    """The clearest group that a side errs on, if its test holds among all claims."""
    level = level_of(report, kind)
    clear = [entry for entry in _tested(report, kind) if holds(entry[0], level)]
    if not clear:
        return f"Accuracy by {what}"
    # With two groups, name the harder one.
    signed = [
        (each["p_max"], -each.get("t", each.get("value")), n) for n, (each, *_) in enumerate(clear)
    ]
    _, sign, place = min(signed)
    more, (_, who, value) = sign < 0, clear[place]
    return f"{value}: {who} errs {'more' if more else 'less'} often than elsewhere"


def _tested(report: ReportJson, kind: str) -> Iterator[tuple[ReportJson, str, str]]:
    """Every tested group: test, rater and group."""
    if kind == TOPICS:
        for who, each in members(report, kind):
            yield each, who, each["about"]
        return
    found = report.get("group_errors", {"people": [], "judges": []})
    sides = [("the majority of people", found["people"])]
    names = run_names(report)
    sides += [
        (names[place], found["judges"][place]) for place in whole_runs(report) if found["judges"]
    ]
    for who, entries in sides:
        for entry in entries:
            yield entry["difference"], who, f"{entry['label']} {entry['value']}"


class HeatMaps(Section):
    """Heat maps of topics and of features of personas, above the tables of the same groups."""

    name = "heat_maps"

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield topics(report)
        yield persona_features(report)


HEAT_MAPS = HeatMaps()
