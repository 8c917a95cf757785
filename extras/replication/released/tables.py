"""The tables of a replication: files, published cells next to counted ones, and arithmetic checks.

The page, the saved files and the terminal show these tables.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.report.files.table_text import to_text
from analysis.report.tables import Table, TableColumn
from analysis.report.text.numbers import decimal
from extras.replication.released.cells import OUTCOMES, TITLES
from extras.replication.released.charts import PaperFigure, bars_table

OWN_FRACTION = {True: "agrees", False: "contradicts", None: ""}
EMPTY = {"accuracy": None, "correct": None, "n": None}


def all_tables(result: Mapping[str, Any], charts: Iterable[PaperFigure]) -> dict[str, Table]:
    """Every table by its name; one without rows is left out."""
    made = [files(result["files"])]
    made += [compared(result["cells"], name) for name in TITLES]
    made.append(printed(result["printed"]))
    made += [bars_table(chart) for chart in charts]
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
        "What each file holds",
        columns,
        rows,
        "Accuracy, and right of all below it. Over all rows, a reply without a verdict is wrong. "
        "High is a certainty of 80 or more; a missing certainty is neither high nor low, and "
        "certainty on another scale than 1 to 100 has neither.",
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
        "Own fraction: whether the printed accuracy is the fraction printed next to it. Notebook: "
        "what the authors' released notebook prints about the file. No file here: it is not in the "
        "folder. Not released: no file has this cell. With tie, and in two cells of Table 4 "
        "(GPT-4, three features, high; least important feature, low), a reply without a verdict is "
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
    return Table("printed", "What the paper states besides these cells", columns, rows)


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
