"""The tables of a replication: files, published cells next to counted ones, and arithmetic checks.

The page, the saved files and the terminal show these tables.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.replication.cells import RULE_WORDS, TITLES
from analysis.replication.charts import Chart
from analysis.report.tables import Column, Table

EMPTY = {"accuracy": None, "correct": None, "n": None}


def all_tables(result: Mapping[str, Any], charts: Iterable[Chart]) -> dict[str, Table]:
    """Every table by its name; one without rows is left out."""
    made = [files(result["files"])]
    made += [compared(result["cells"], name) for name in TITLES]
    made.append(printed(result["printed"]))
    made += [bars(chart) for chart in charts]
    return {table.name: table for table in made if table.rows}


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
        Column("File"),
        Column("Rows", "count"),
        Column("A", "count"),
        Column("B", "count"),
        Column("Tie", "count"),
        Column("No verdict", "count"),
        Column("With a verdict", "tally"),
        Column("All rows", "tally"),
        Column("High", "tally"),
        Column("Low", "tally"),
        Column("No certainty", "count"),
    )
    return Table(
        "files",
        "What each file holds",
        columns,
        rows,
        "Accuracy, and right of all below it. Over all rows, a reply without a verdict is wrong. "
        "High is a certainty of 80 or more; a missing certainty is neither high nor low, and "
        "certainty on another scale than 1 to 100 has neither.",
    )


def compared(cells: Sequence[Mapping[str, Any]], name: str) -> Table:
    """Published values next to computed ones, for one of the paper's tables."""
    marks = {True: "equal", False: "different", None: ""}
    rows = [
        [
            cell["row"],
            cell["column"],
            _tally(cell, "published"),
            _tally(cell, "computed"),
            marks[cell["equal"]],
            cell["why"],
            RULE_WORDS[cell["rule"]],
        ]
        for cell in cells
        if cell["table"] == name
    ]
    columns = (
        Column("Row"),
        Column("Column"),
        Column("Published", "tally"),
        Column("Computed", "tally"),
        Column("Outcome"),
        Column("Why"),
        Column("Rule"),
    )
    return Table(
        name,
        TITLES[name],
        columns,
        rows,
        "Rule: “A and B only” drops every other reply; of “all rows”, one without a verdict is "
        "wrong.",
    )


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
        Column("Table"),
        Column("Cell"),
        Column("Published"),
        Column("Arithmetic"),
        Column("Why"),
    )
    return Table("printed", "Tables printed as published", columns, rows)


def bars(chart: Chart) -> Table:
    """The numbers of a figure."""
    rows = [
        [panel.title, label, right, wrong, right / (right + wrong)]
        for panel in chart.panels
        for label, right, wrong in panel.bars
    ]
    columns = (
        Column("File"),
        Column("Certainty"),
        Column("Right", "count"),
        Column("Wrong", "count"),
        Column("Accuracy", "decimal"),
    )
    return Table(chart.name, chart.title, columns, rows)


def verdict(cells: Sequence[Mapping[str, Any]]) -> str:
    """The outcome in one sentence.

    >>> verdict([{"equal": True}, {"equal": False}, {"equal": None}])
    '2 published cells compared: 1 equal, 1 different. 1 more lacks a file or a published figure.'
    """
    equal = sum(cell["equal"] is True for cell in cells)
    different = sum(cell["equal"] is False for cell in cells)
    rest = len(cells) - equal - different
    compared = (
        f"{equal + different} published cells compared: {equal} equal, {different} different."
    )
    lack = "lacks" if rest == 1 else "lack"
    return f"{compared} {rest} more {lack} a file or a published figure." if rest else compared
