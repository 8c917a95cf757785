"""The comparison as plain text for a terminal."""

import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from analysis.replication.cells import TITLES
from analysis.replication.page import cells_table, files_table, printed_table, verdict

WIDEST = 52  # a longer cell wraps


def as_text(result: Mapping[str, Any]) -> str:
    """Files, compared cells and arithmetic checks, one table each."""
    head, rows = files_table(result["files"])
    parts = [_section("Files", head, rows)]
    for key, title in TITLES.items():
        cells = [cell for cell in result["cells"] if cell["table"] == key]
        if cells:
            head, rows = cells_table(cells)
            parts.append(_section(title, head[:-1], [row[:-1] for row in rows]))
    parts.append(_section("Printed as published", *printed_table(result["printed"])))
    for entry in result["skipped"]:
        parts.append(f"Skipped {entry['file']}: {entry['why']}.\n".replace("..\n", ".\n"))
    return "\n".join([*parts, verdict(result["cells"])])


def _section(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A heading and a table with aligned columns; long cells go on below."""
    table = [[textwrap.wrap(cell, WIDEST) or [""] for cell in line] for line in [head, *rows]]
    widths = [max(len(part) for line in table for part in line[i]) for i in range(len(head))]
    lines = [title, "-" * len(title)]
    for line in table:
        for parts in zip_longest(*line, fillvalue=""):
            padded = (f"{part:<{width}}" for part, width in zip(parts, widths, strict=True))
            lines.append("  ".join(padded).rstrip())
    return "\n".join([*lines, ""])
