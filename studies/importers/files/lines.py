"""The lines of a file, the JSON in them, and the rows of a CSV file, each within the limits."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
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
from studies.texts.cells import Changes, clean, name_of
from studies.texts.json_values import NotJson, json_value

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
    """The JSON of a whole file. Raises `NotJson`, also if it is too large."""
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise NotJson(f"it is larger than {MAX_DOCUMENT >> 20} MB")
    if _signs(data, (b",", b"[", b"{")) > MAX_DOCUMENT_VALUES:
        raise NotJson(f"it holds more than {MAX_DOCUMENT_VALUES:,} values")
    return json_value(data)


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
# How spreadsheet programs save CSV in Western Europe and America.
FALLBACK = "cp1252"
IN_FALLBACK = (
    "lines that are not UTF-8, read as Windows-1252 (if letters look wrong, name the encoding or "
    "save the file as UTF-8)"
)
_TITLE = 2  # most cells of a title above a table
# Qualtrics describes its columns in two rows below their names.
_IMPORT_ID = re.compile(r"""\{\s*["']ImportId["']\s*:""")
_DESCRIBING = 3  # rows
_QUOTED_CELL = re.compile(r'"[^"]*"')
_STATED = re.compile(r"(?i:sep=)([,;\t|])")


def table_rows(
    stream: IO[bytes],
    name: str,
    *,
    required: Sequence[str] = (),
    escape: str | None = None,
    changes: Changes | None = None,
) -> Iterator[tuple[int, dict[str, str]] | BadLine]:
    """Each row as {column: trimmed cell} with the line it starts on, or its fault.

    As `records`; reading ends if a `required` column is missing.
    """

    faults = needs(required)
    for entry in records(stream, name, header_faults=faults, escape=escape, changes=changes):
        if isinstance(entry, BadLine):
            yield entry
        else:
            line, cells = entry
            yield line, {column: cell.strip() for column, cell in cells.items()}


def needs(required: Sequence[str]) -> HeaderFaults:
    """The faults of a header without a `required` column."""

    def header_faults(line: int, header: list[str], name: str) -> list[BadLine]:
        remedy = "Add it, or rename the one you mean."
        return [
            BadLine(missing_column(line, column, header, remedy, name))
            for column in required
            if column not in header
        ]

    return header_faults


def records(
    stream: IO[bytes],
    name: str,
    *,
    header_faults: HeaderFaults,
    escape: str | None = None,
    changes: Changes | None = None,
) -> Iterator[tuple[int, dict[str, str]] | BadLine]:
    """Each row as {column: cell} with the line it starts on, or its fault.

    The separator is the most frequent of comma, semicolon, tab and bar in the header. `escape` is
    the character before a quote inside a cell, in files that do not only double their quotes. Blank
    lines are skipped; reading ends if the quotes do not match or the header has faults. `changes`
    counts what was changed in cells.
    """
    try:
        rows = filled_rows(stream, name, escape, changes)
        for first, names in rows:
            header = [name_of(cell) for cell in names]
            faults = _too_many(first, header, name)
            if not faults and sum(map(bool, header)) <= _TITLE:
                for below in rows:
                    rows = chain([below], rows)
                    faults = _title(first, header, *below, name)
                    break
            faults = faults or header_faults(first, header, name)
            yield from faults
            if not faults:
                yield from _rows_below(header, rows, name, changes)
            return
    except BadLine as bad:
        yield BadLine(replace(bad.fault, ends_reading=True))


def _rows_below(
    header: Sequence[str], rows: Iterable[tuple[int, list[str]]], name: str, changes: Changes | None
) -> Iterator[tuple[int, dict[str, str]] | BadLine]:
    for number, (line, cells) in enumerate(rows):
        if len(cells) != len(header):
            message = f"there are {len(cells)} cells, the header has {len(header)}."
            remedy = "Quote cells that hold the delimiter."
            yield BadLine(Fault(line, "", "number of cells", message, remedy, file=name))
        elif number < _DESCRIBING and any(map(_IMPORT_ID.match, cells)):
            message = "this row has ImportIds of Qualtrics: it and the row above are about columns."
            remedy = "Remove both rows."
            fault = Fault(line, "", "rows about columns", message, remedy, file=name)
            yield BadLine(replace(fault, ends_reading=True))
            return
        elif name_of(cells[0]) == header[0] and [*map(name_of, cells)] == header:
            message = "this row repeats the header, as if two files were put together."
            yield BadLine(Fault(line, "", "header again", message, "Remove the line.", file=name))
        else:
            yield line, dict(zip(header, (clean(cell, changes) for cell in cells), strict=True))


def filled_rows(
    stream: IO[bytes], name: str, escape: str | None = None, changes: Changes | None = None
) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row that is not blank, with the line it starts on. Raises `BadLine`."""
    csv.field_size_limit(MAX_CELL)
    start = 1
    text = _Text(stream, name, changes)
    first = next(text, "")
    stated = stated_delimiter(first)
    if stated:
        start, first = 2, next(text, "")
    skipped = start - 1
    delimiter = stated or _delimiter_of(first)
    reader = csv.reader(chain([first], text), delimiter=delimiter, escapechar=escape, strict=True)
    try:
        for cells in reader:
            line, start = start, reader.line_num + 1 + skipped
            text.start_row(start)
            if any(cell.strip() for cell in cells):
                yield line, cells
    except csv.Error as error:
        message = f"this cannot be read as CSV ({error})."
        remedy = "Quote cells that hold quotes, line ends or the delimiter."
        raise BadLine(Fault(start, "", "not CSV", message, remedy, file=name)) from error


def _title(
    line: int, header: Sequence[str], next_line: int, cells: Sequence[str], name: str
) -> list[BadLine]:
    """The fault of a first row that is a title: the row below has many more cells."""
    if len(cells) == 1:  # the title shows no delimiter
        cells = cells[0].split(_delimiter_of(cells[0]))
    filled, titles = sum(bool(cell.strip()) for cell in cells), [*filter(None, header)]
    if filled < 2 * len(titles) or filled <= _TITLE:
        return []
    message = f"“{' '.join(titles)[:80]}” is a title above the table, not the names of columns."
    remedy = f"Remove what is above the names of the columns. Line {next_line} may have them."
    fault = Fault(line, "", "title above the table", message, remedy, file=name)
    return [BadLine(replace(fault, ends_reading=True))]


def header_of(line: str) -> list[str] | None:
    """The column names in the first line of a file; None if it is not CSV."""
    csv.field_size_limit(MAX_CELL)
    try:
        cells = next(csv.reader([line], delimiter=_delimiter_of(line)))
    except csv.Error:
        return None
    return [name_of(cell) for cell in cells]


def stated_delimiter(line: str) -> str:
    """The delimiter in a first line such as “sep=;”, which is not a row; otherwise empty."""
    match = _STATED.fullmatch(line.strip("\r\n"))
    return match[1] if match else ""


def delimiter_of(text: str) -> str:
    """The delimiter of a CSV file that begins with `text`."""
    first, _, rest = text.partition("\n")
    return stated_delimiter(first) or _delimiter_of(first or rest)


def _delimiter_of(header: str) -> str:
    """The most frequent delimiter outside quotes, in which questions may have commas."""
    return max(",;\t|", key=_QUOTED_CELL.sub("", header).count)


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
    """The lines of a CSV file as text. Raises `BadLine` if one row is too long.

    From the first letter that is not ASCII, a file is either UTF-8 or as spreadsheets save it.
    """

    def __init__(self, stream: IO[bytes], name: str, changes: Changes | None) -> None:
        self._lines, self._name = enumerate(lines_of(stream, name), start=1), name
        self._changes = Changes() if changes is None else changes
        self._encoding = ""
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
        if line.isascii():
            return line.decode("ascii")
        try:
            text, encoding = decoded_line(line)
        except UnicodeDecodeError as error:
            raise BadLine(not_utf8(number, self._name)) from error
        self._encoding = self._encoding or encoding
        if encoding != self._encoding:
            raise BadLine(not_utf8(number, self._name))
        if encoding == FALLBACK:
            self._changes[IN_FALLBACK] += 1
        return text


def decoded_line(line: bytes) -> tuple[str, str]:
    """A line of a CSV file as text, and its encoding. Raises `UnicodeDecodeError`."""
    try:
        return line.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        return line.decode(FALLBACK), FALLBACK
