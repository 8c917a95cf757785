"""Rows of a file with any columns: CSV, JSON Lines, or one JSON list, each cell as text."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, Any

from studies.exporters.csv_out import as_typed
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault
from studies.importers.files.limits import MAX_COLUMNS, MAX_ROW
from studies.importers.files.lines import MAX_LISTS, has_too_many_values, is_too_deep
from studies.importers.files.readers import DECODER, BadLine, read_json_lines
from studies.importers.files.table import records

HEAD_BYTES = 512 * 1024
HEAD_ROWS = 200
_BLOCK = 1 << 16
Row = tuple[int, dict[str, str]]


@dataclass(frozen=True)
class Head:
    """The first rows of a file, their faults, and all columns, in the order of the file."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    faults: tuple[Fault, ...] = ()


def read_head(file: File) -> Head:
    """The first rows of a file. Only the beginning of the file is read."""
    with file.open() as stream:
        data = stream.read(HEAD_BYTES)
    rows: list[Row] = []
    faults: list[Fault] = []
    columns: dict[str, None] = {}
    for found in islice(table_of(replace(file, source=data)), HEAD_ROWS):
        if isinstance(found, BadLine):
            faults.append(found.fault)
        else:
            rows.append(found)
            columns |= dict.fromkeys(found[1])
    if faults and len(data) == HEAD_BYTES and len(rows) + len(faults) < HEAD_ROWS:
        faults.pop()  # of the row that goes on after the beginning of the file
    return Head(file.name, tuple(columns), tuple(rows), tuple(faults))


def table_of(file: File) -> Iterator[Row | BadLine]:
    """Each row as {column: cell} with its line, or its fault."""
    first = file.head()[:1]
    if first == b"{":
        rows: Iterator[tuple[int, Any] | BadLine] = read_json_lines(file)
    elif first == b"[":
        rows = json_list(file)
    else:
        yield from _csv_rows(file)
        return
    for found in rows:
        yield found if isinstance(found, BadLine) else _flat_row(*found, file.name)


def _csv_rows(file: File) -> Iterator[Row | BadLine]:
    with file.open() as stream:
        for found in records(stream, file.name, header_faults=_twice):
            if isinstance(found, BadLine):
                yield found
            else:
                line, cells = found
                # Columns without a name, such as numbers of rows, are no columns.
                yield line, {name: as_typed(cell).strip() for name, cell in cells.items() if name}


def _twice(line: int, header: list[str], name: str) -> list[BadLine]:
    return [
        BadLine(
            Fault(
                line,
                column,
                "column appears twice",
                f"the column {column} appears twice.",
                "Rename one of them.",
                file=name,
            )
        )
        for column, count in Counter(header).items()
        if count > 1 and column
    ]


def json_list(file: File) -> Iterator[tuple[int, Any] | BadLine]:
    """The elements of one JSON list, each with the number of the line that it starts on."""
    with file.open() as stream:
        try:
            yield from _elements(stream, file.name)
        except UnicodeDecodeError:
            yield _bad(1, "the file is not UTF-8.", file.name)


def _elements(stream: IO[bytes], name: str) -> Iterator[tuple[int, Any] | BadLine]:
    text, line, is_first, at_end = "", 1, True, False
    lists = 0
    while True:
        separators = "[" if is_first else ","
        start = len(text) - len(text.lstrip())
        line += text.count("\n", 0, start)
        text = text[start:]
        if text[:1] == "]":
            return
        body = text.removeprefix(separators) if text else ""
        try:
            if not text or (text[0] != separators):
                raise ValueError
            space = len(body) - len(body.lstrip())
            if body[space : space + 1] == "]" and is_first:
                return
            value, end = DECODER.raw_decode(body, space)
            # A number at the end of what was read may go on.
            if end == len(body) and not at_end:
                raise ValueError
        except (ValueError, RecursionError):
            if at_end or len(text) > MAX_ROW or has_too_many_values(text):
                skipped = body[: len(body) - len(body.lstrip())].count("\n")
                message = "this is not the list of objects that the file begins."
                yield _bad(line + skipped, message, name)
                return
            block = stream.read(_BLOCK)
            # A character may be split by the end of the block.
            while block and block[-1] >= 0x80 and (more := stream.read(1)):
                block += more
            at_end = not block
            text += block.decode("utf-8-sig" if is_first else "utf-8")
            continue
        start_line = line + body.count("\n", 0, space)
        lists += body.count("[", space, end) + body.count("{", space, end)
        if lists > MAX_LISTS:
            yield _bad(start_line, "up to here are more lists and objects than are read.", name)
            return
        if is_too_deep([value]):
            yield _bad(start_line, "objects and lists lie too deep inside each other.", name)
        else:
            yield start_line, value
        line += body.count("\n", 0, end)
        text, is_first = body[end:], False


def _bad(line: int, message: str, name: str) -> BadLine:
    remedy = "Write one JSON object a line, or a CSV file."
    return BadLine(Fault(line, "", "not JSON", message, remedy, file=name))


def _flat_row(line: int, value: Any, name: str) -> Row | BadLine:
    if not isinstance(value, dict):
        return _bad(line, "the row is not a JSON object.", name)
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
