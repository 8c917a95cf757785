"""Rows of long tables for the page's script: packed into it, or in files that the app sends."""

import base64
import json
import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.report.tables import Cell, Table, compact
from studies.file_storage.stored import Stored

# The page holds so many bytes of packed rows of each table; three letters take four bytes there.
PACKED_BYTES = 400_000
SAMPLE = 2_000  # rows that show how far the others can be compressed
ROWS_PER_FILE = 2_000
KEYS = "keys.json"


def item_rows(report: Mapping[str, Any], table: Table, limit: int | None = None) -> list[list[Any]]:
    """The rows of the table of items: cells, who was right, and the number of each group.

    A text is itself, and a number as in report.json; None is a missing one of either.
    """
    return [
        [row, [side["correct"] for side in (item["people"], *item["judges"])], item["groups"]]
        for row, item in zip(table.rows[:limit], report["items"][:limit], strict=True)
    ]


def plain_rows(table: Table, limit: int | None = None) -> list[list[Any]]:
    """The rows of any other table, as `item_rows` has them, numbers with how they read."""
    return [[[_packed(cell) for cell in row]] for row in table.each_row(limit)]


def _packed(cell: Cell) -> Any:
    if cell.is_text:
        return cell.text
    return [cell.text, cell.raw, cell.small, cell.below]


def pack(rows_of: Callable[[int], Sequence[Any]], n_rows: int) -> tuple[str, int]:
    """Pack the first rows of a table, as many as fit; returns the text and the number of rows.

    `rows_of` makes so many of the first rows.
    """
    n = min(n_rows, SAMPLE)
    text = _deflated(rows_of(n))
    if n < n_rows and (room := PACKED_BYTES * n // len(text)) > n:
        n = min(n_rows, room)
        text = _deflated(rows_of(n))
    while len(text) > PACKED_BYTES:
        n = min(n - 1, int(0.97 * n * PACKED_BYTES / len(text)))
        text = _deflated(rows_of(n))
    return (text, n) if n else ("", 0)


def _deflated(rows: Sequence[Any]) -> str:
    return base64.b64encode(zlib.compress(compact(rows).encode())).decode("ascii")


def write_item_rows(rows: Sequence[Any], folder: Path) -> None:
    """Write rows by key to files of `ROWS_PER_FILE`, with the last key of each."""
    folder.mkdir(parents=True)
    parts = [rows[start : start + ROWS_PER_FILE] for start in range(0, len(rows), ROWS_PER_FILE)]
    for number, part in enumerate(parts):
        (folder / f"{number}.json").write_text(compact(part), encoding="utf-8")
    (folder / KEYS).write_text(compact([part[-1][0][0] for part in parts]), encoding="utf-8")


def read_item_rows(folder: Path | Stored, *, after: str) -> tuple[list[Any], bool]:
    """The rows of one file whose keys follow `after`, and whether there are more after them.

    Raises `FileNotFoundError` if the report has no such files, because its page has all rows.
    """
    keys = json.loads((folder / KEYS).read_bytes())
    number = bisect_right(keys, after)
    if number == len(keys):
        return [], False
    rows = json.loads((folder / f"{number}.json").read_bytes())
    return [row for row in rows if row[0][0] > after], number + 1 < len(keys)
