"""A table as plain text for a terminal."""

import textwrap
from itertools import zip_longest

from analysis.report.tables import Cell, Table

WIDEST = 52  # a longer cell wraps


def to_text(table: Table) -> str:
    """A heading and a table with aligned columns; long cells wrap."""
    head = [column.heading for column in table.columns]
    lines_of = [head, *([_words(cell) for cell in row] for row in table.cells)]
    rows = [[textwrap.wrap(cell, WIDEST) or [""] for cell in line] for line in lines_of]
    widths = [max(len(part) for line in rows for part in line[i]) for i in range(len(head))]
    lines = [table.title, "-" * len(table.title)]
    for line in rows:
        for parts in zip_longest(*line, fillvalue=""):
            padded = (f"{part:<{width}}" for part, width in zip(parts, widths, strict=True))
            lines.append("  ".join(padded).rstrip())
    return "\n".join([*lines, ""])


def _words(cell: Cell) -> str:
    return " ".join([cell.text, *cell.below])
