"""Rows of a file with any columns: CSV, JSON Lines, or one JSON list, each cell as text."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, Any

from studies.exporters.tables import as_typed
from studies.importers.files.bundle import File
from studies.importers.files.faults import MAX_COLUMNS, MAX_DOCUMENT, Fault
from studies.importers.files.json_rows import WANTED, is_json, json_rows, shape_of
from studies.importers.files.lines import IN_FALLBACK, BadLine

HEAD_BYTES = 512 * 1024
HEAD_ROWS = 200
TableRow = tuple[int, dict[str, str]]


@dataclass(frozen=True)
class Head:
    """The first rows of a file, their faults, and all columns, in the order of the file.

    `is_fallback`: they are not UTF-8, and were read as spreadsheets save them.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    faults: tuple[Fault, ...] = ()
    is_fallback: bool = False


def read_head(file: File) -> Head:
    """The first rows of a file. Only the beginning of the file is read."""
    with file.open() as stream:
        data = beginning_of(stream)
    rows: list[TableRow] = []
    faults: list[Fault] = []
    columns: dict[str, None] = {}
    file = replace(file, source=data, encoding="")
    for entry in islice(table_of(file), HEAD_ROWS):
        if isinstance(entry, BadLine):
            faults.append(entry.fault)
        else:
            rows.append(entry)
            columns |= dict.fromkeys(entry[1])
    if faults and len(data) == HEAD_BYTES and len(rows) + len(faults) < HEAD_ROWS:
        faults.pop()  # of the row that continues after the beginning of the file
    is_fallback = bool(file.changes[IN_FALLBACK])
    return Head(file.name, tuple(columns), tuple(rows), tuple(faults), is_fallback)


def beginning_of(stream: IO[bytes]) -> bytes:
    """The beginning of a file; of one JSON object, as much as can be read at once."""
    data = stream.read(HEAD_BYTES)
    first, _, rest = data.lstrip().partition(b"\n")
    if len(data) == HEAD_BYTES and first[:1] == b"{" and not (rest and first.rstrip()[-1:] == b"}"):
        data += stream.read(MAX_DOCUMENT)
    return data


def table_of(file: File) -> Iterator[TableRow | BadLine]:
    """Each row as {column: cell} with its line, or its fault."""
    if not is_json(file):
        yield from _csv_rows(file)
        return
    for entry in json_rows(file):
        yield entry if isinstance(entry, BadLine) else _flat_row(*entry, file.name)


def _csv_rows(file: File) -> Iterator[TableRow | BadLine]:
    for entry in file.records(header_faults=_repeated_column):
        if isinstance(entry, BadLine):
            yield entry
        else:
            line, cells = entry
            # Columns without a name, such as row numbers, are left out.
            yield line, {name: as_typed(cell).strip() for name, cell in cells.items() if name}


def _repeated_column(line: int, header: list[str], name: str) -> list[BadLine]:
    return [
        BadLine(
            Fault(
                line,
                column,
                "column appears twice",
                f"the column {column} appears twice.",
                "Rename one of them.",
                file=name,
                ends_reading=True,
            )
        )
        for column, count in Counter(header).items()
        if count > 1 and column
    ]


def _flat_row(line: int, value: Any, name: str) -> TableRow | BadLine:
    if not isinstance(value, dict):
        message = f"the row is {shape_of(value)}, not a JSON object."
        return BadLine(Fault(line, "", "not an object", message, WANTED, file=name))
    cells: dict[str, str] = {}
    _flatten(value, "", cells)
    if len(cells) > MAX_COLUMNS:
        message = f"the row has {len(cells):,} values; at most {MAX_COLUMNS:,} are read."
        return BadLine(Fault(line, "", "too many columns", message, file=name))
    return line, cells


def _flatten(value: Any, path: str, cells: dict[str, str]) -> None:
    """Name the values inside objects and lists by their path: conversation.1.content."""
    if isinstance(value, dict):
        for name, part in value.items():
            _flatten(part, f"{path}.{name}" if path else name, cells)
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _flatten(part, f"{path}.{number}", cells)
    elif isinstance(value, str):
        cells[path] = value.strip()
    else:
        cells[path] = "" if value is None else json.dumps(value)
