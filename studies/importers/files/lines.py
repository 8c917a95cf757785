"""The lines of a file, the JSON in them, and the rows of a CSV file, each within the limits."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import IO, Any, AnyStr

from studies.importers.files.faults import (
    MAX_CELL,
    MAX_COLUMNS,
    MAX_DEPTH,
    MAX_DOCUMENT,
    MAX_DOCUMENT_VALUES,
    MAX_FILE_VALUES,
    MAX_LINES,
    MAX_ROW,
    MAX_VALUES,
    Fault,
)

_LIST_COUNTS = 8  # a list or an object costs as much as this many plain values
MAX_LISTS = MAX_FILE_VALUES // _LIST_COUNTS
_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)


class BadLine(Exception):
    """A line that cannot be read; the argument is its fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(str(fault))


def lines_of(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Each line of the file `name`. Raises `BadLine` if one is too long or there are too many."""
    number = values = 0
    while line := stream.readline(MAX_ROW + 1):
        number += 1
        if number == 1 and line.startswith(b"PK\x03\x04"):
            message = "this is a zip of several files, or a damaged one."
            remedy = "Unpack it, and import the file with the rows."
            raise BadLine(Fault(1, "", "packed", message, remedy, file=name, ends_reading=True))
        if len(line) > MAX_ROW:
            raise too_long(number, name)
        if number > MAX_LINES:
            message = f"there are more than {MAX_LINES:,} lines."
            remedy = "Split the file and import the parts."
            raise BadLine(
                Fault(number, "", "too many lines", message, remedy, file=name, ends_reading=True)
            )
        values += values_in(line)
        if values > MAX_FILE_VALUES:
            message = "there are too many values, lists and objects up to here."
            remedy = "Leave out what you do not need, or split the file and import the parts."
            raise BadLine(
                Fault(number, "", "too many values", message, remedy, file=name, ends_reading=True)
            )
        yield line


def values_in(data: bytes) -> int:
    """The count that `MAX_FILE_VALUES` limits; brackets and commas inside texts count too."""
    return _signs(data, (b",",)) + _LIST_COUNTS * _signs(data, (b"[", b"{"))


def _signs(text: AnyStr, signs: Iterable[AnyStr]) -> int:
    return sum(text.count(sign) for sign in signs)


def has_too_many_values(text: str) -> bool:
    """Whether a line of JSON holds more than `MAX_VALUES`, without parsing it."""
    if _signs(text, ",[{") <= MAX_VALUES:
        return False
    return _signs(_TEXT.sub("", text), ",[{") > MAX_VALUES


def document(stream: IO[bytes]) -> Any:
    """The JSON of a whole file. Raises `ValueError` (also if too large) or `RecursionError`."""
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise ValueError(f"it is larger than {MAX_DOCUMENT >> 20} MB")
    if _signs(data, (b",", b"[", b"{")) > MAX_DOCUMENT_VALUES:
        raise ValueError(f"it holds more than {MAX_DOCUMENT_VALUES:,} values")
    return json.loads(data.decode("utf-8-sig"))


def too_long(line: int, name: str) -> BadLine:
    message = f"the row is longer than {MAX_ROW:,} bytes."
    remedy = "Write one item a row, and close every quote."
    return BadLine(
        Fault(line, "", "row is too long", message, remedy, file=name, ends_reading=True)
    )


def is_too_deep(value: Any) -> bool:
    """Whether objects and lists are nested more than `MAX_DEPTH` deep."""
    inside = [value]
    for _ in range(MAX_DEPTH + 1):
        inside = [
            part
            for outer in inside
            for part in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(part, (dict, list))
        ]
        if not inside:
            return False
    return True


# The fault of a header, from its line, its columns and the name of the file.
HeaderFaults = Callable[[int, list[str], str], list[BadLine]]
_SHOWN_COLUMNS = 40
_STATED = re.compile(r"(?i:sep=)([,;\t|])")


def table_rows(
    stream: IO[bytes], name: str, *, required: Sequence[str] = (), escape: str | None = None
) -> Iterator[tuple[int, dict[str, str]] | BadLine]:
    """Each row as {column: trimmed cell} with the line it starts on, or its fault.

    As `records`; reading ends if a `required` column is missing.
    """

    def header_faults(line: int, header: list[str], name: str) -> list[BadLine]:
        remedy = "Add it, or rename the one you mean."
        return [
            BadLine(missing_column(line, column, header, remedy, name))
            for column in required
            if column not in header
        ]

    for found in records(stream, name, header_faults=header_faults, escape=escape):
        if isinstance(found, BadLine):
            yield found
        else:
            line, cells = found
            yield line, {column: cell.strip() for column, cell in cells.items()}


def records(
    stream: IO[bytes], name: str, *, header_faults: HeaderFaults, escape: str | None = None
) -> Iterator[tuple[int, dict[str, str]] | BadLine]:
    """Each row as {column: cell} with the line it starts on, or its fault.

    The separator is the most frequent of comma, semicolon and tab in the header. `escape` is the
    character before a quote inside a cell, in files that do not only double their quotes. Blank
    lines are skipped; reading ends if the quotes do not match or the header has faults.
    """
    csv.field_size_limit(MAX_CELL)
    header: list[str] = []
    start = 1
    try:
        text = _Text(stream, name)
        first = next(text, "")
        stated = stated_delimiter(first)
        if stated:
            start, first = 2, next(text, "")
        skipped = start - 1
        delimiter = stated or _delimiter_of(first)
        reader = csv.reader(
            _chain(first, text), delimiter=delimiter, escapechar=escape, strict=True
        )
        for cells in reader:
            line, start = start, reader.line_num + 1 + skipped
            text.start_row(start)
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip() for cell in cells]
                faults = _too_many(line, header, name) or header_faults(line, header, name)
                yield from faults
                if faults:
                    return
            elif len(cells) != len(header):
                message = f"there are {len(cells)} cells, the header has {len(header)}."
                remedy = "Quote cells that hold the delimiter."
                yield BadLine(Fault(line, "", "number of cells", message, remedy, file=name))
            else:
                yield line, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        message = f"this cannot be read as CSV ({error})."
        remedy = "Quote cells that hold quotes, line ends or the delimiter."
        yield BadLine(Fault(start, "", "not CSV", message, remedy, file=name, ends_reading=True))
    except BadLine as bad:
        yield BadLine(replace(bad.fault, ends_reading=True))


def header_of(line: str) -> list[str] | None:
    """The column names in the first line of a file; None if it is not CSV."""
    csv.field_size_limit(MAX_CELL)
    try:
        cells = next(csv.reader([line], delimiter=_delimiter_of(line)))
    except csv.Error:
        return None
    return [cell.strip() for cell in cells]


def stated_delimiter(line: str) -> str:
    """The delimiter in a first line such as “sep=;”, which is not a row; otherwise empty."""
    found = _STATED.fullmatch(line.strip("\r\n"))
    return found[1] if found else ""


def _delimiter_of(header: str) -> str:
    return max(",;\t", key=header.count)


def missing_column(line: int, column: str, header: Sequence[str], remedy: str, name: str) -> Fault:
    named = ", ".join(cell[:80] for cell in header[:_SHOWN_COLUMNS])
    more = f" and {left:,} more" if (left := len(header) - _SHOWN_COLUMNS) > 0 else ""
    message = f"There is no column {column}. The file has: {named}{more}."
    return Fault(line, column, "missing column", message, remedy, file=name, ends_reading=True)


def not_utf8(line: int, name: str) -> Fault:
    return Fault(
        line,
        "",
        "not UTF-8",
        f"Line {line} is not UTF-8.",
        "Save the file as ‘CSV UTF-8’." if name.endswith(".csv") else "Save it as UTF-8.",
        file=name,
    )


def _too_many(line: int, header: list[str], name: str) -> list[BadLine]:
    if len(header) <= MAX_COLUMNS:
        return []
    message = f"there are {len(header):,} columns; at most {MAX_COLUMNS:,} are read."
    remedy = "Leave out the columns that you do not need."
    return [
        BadLine(Fault(line, "", "too many columns", message, remedy, file=name, ends_reading=True))
    ]


class _Text:
    """The lines of a file as text. Raises `BadLine` if one row is too long."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._lines, self._name = enumerate(lines_of(stream, name), start=1), name
        self._row, self._size = 1, 0

    def start_row(self, line: int) -> None:
        self._row, self._size = line, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        number, line = next(self._lines)
        self._size += len(line)
        if self._size > MAX_ROW:
            raise too_long(self._row, self._name)
        try:
            return line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise BadLine(not_utf8(number, self._name)) from error


def _chain(first: str, rest: Iterable[str]) -> Iterator[str]:
    yield first
    yield from rest
