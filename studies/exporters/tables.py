"""The writers of every CSV and XLSX file of the product, with one rule against formulas.

A spreadsheet computes a cell that begins like a formula, and some programs read any line break as
the end of a row, so typed text could start a row. A cell that begins like a formula therefore gets
a quote in front, also each such line inside it, and a cell with any line break is quoted.
XlsxWriter is imported when a workbook is opened, which only workers and commands do.
"""

import csv
import datetime as dt
import io
import json
import re
import string
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from studies.errors import StudyError

# Characters that some program reads as the end of a line: a cell with one of them is quoted.
BREAKS = "\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_RARE_BREAK = re.compile("[" + BREAKS.replace("\n", "") + "]")
# Invisible characters, which a spreadsheet may drop before it looks at a cell.
UNSEEN = (
    "\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
)
# The four characters that begin a formula: plain, full-width and small.
SIGNS = "=+@＝＋－＠﹦﹢﹣﹫-"
# Quotes in front are included, so that `as_typed` removes exactly what was added.
_FORMULA = re.compile(f"'*(?:[\t\r\n]|[{UNSEEN}]*[{SIGNS}])")
# The start of a line like a formula, without breaks, each of which starts a line of its own.
# “- milk” and “+ milk” are entries of a list.
_BLANK = (
    UNSEEN.replace("\x00-\x20", "\x00-\x09\x0e-\x1b\x1f\x20")
    .replace("\x7f-\xa0", "\x7f-\x84\x86-\xa0")
    .replace("\u2028-\u202f", "\u202a-\u202f")
)
_LINE = f"'*[{_BLANK}]*(?:[{SIGNS.replace('+', '')[:-1]}]|[+-](?! ))"
_FORMULA_LINE = re.compile(f"([{BREAKS}])(?={_LINE})")
_PROTECTED_LINE = re.compile(f"([{BREAKS}])'(?={_LINE})")
_BREAK = re.compile(f"[{BREAKS}]")


class TextFile(Protocol):
    def write(self, text: str, /) -> object: ...


def spreadsheet_text(cell: str) -> str:
    """Protect `cell` from being computed as a formula; `as_typed` undoes exactly this."""
    lines = _FORMULA_LINE.sub(r"\1'", cell) if _BREAK.search(cell) else cell
    return f"'{lines}" if _FORMULA.match(cell) else lines


def as_typed(cell: str) -> str:
    """A cell of a CSV file as it was before `spreadsheet_text`."""
    if "'" not in cell:
        return cell
    cell = _PROTECTED_LINE.sub(r"\1", cell)
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell


def csv_cell(value: Any) -> Any:
    """A value as a CSV cell: numbers as they are, empty for None, never a formula."""
    if isinstance(value, str):
        return spreadsheet_text(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (dict, list)):
        value = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return spreadsheet_text(str(value))


def csv_cells(values: Iterable[Any]) -> list[Any]:
    """Many values as CSV cells: one line that begins with a letter or a digit is no formula."""
    return [
        value
        if type(value) in _NUMBERS
        or (type(value) is str and value[:1] in _HARMLESS and not _BREAK.search(value))
        else csv_cell(value)
        for value in values
    ]


_NUMBERS = frozenset((int, float, type(None)))
_HARMLESS = frozenset(string.ascii_letters + string.digits)


class CsvWriter:
    """Writes rows to a text file that was opened with newline=""."""

    def __init__(self, file: TextFile, *, line_end: str = "\n", separator: str = ",") -> None:
        self._file, self._line_end, self._separator = file, line_end, separator
        # The csv module quotes a cell that contains a character of the line terminator. So the
        # terminator has every kind of break, and `write` replaces it by the real one.
        self._writer = csv.writer(self, delimiter=separator, lineterminator=BREAKS)

    def row(self, values: Iterable[Any]) -> None:
        """Write one row; headings can also be names that a user chose."""
        self._writer.writerow([csv_cell(value) for value in values])

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        for row in rows:
            self.row(row)

    def columns(self, columns: Iterable[Iterable[Any]]) -> None:
        """Write many rows, given as columns of cells as `csv_cell` makes them."""
        rows = list(zip(*columns, strict=True))
        # The csv module compares each character with each break, which is slow.
        text = io.StringIO()
        csv.writer(text, delimiter=self._separator, lineterminator="\n").writerows(rows)
        lines = text.getvalue()
        if _RARE_BREAK.search(lines):
            self._writer.writerows(rows)
        elif self._line_end == "\n":
            self._file.write(lines)
        elif lines.count("\n") == len(rows):  # so none of them is in a cell
            self._file.write(lines.replace("\n", self._line_end))
        else:
            self._writer.writerows(rows)

    def write(self, line: str) -> None:
        self._file.write(f"{line[: -len(BREAKS)]}{self._line_end}")


# What a sheet can hold, as the format defines it.
MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
MOST_CHARACTERS = 32_767
# A whole number beyond this is rounded by spreadsheets, so it is written as text.
_EXACT = 2**53
_SHEET_NAME = 31
# What XlsxWriter returns for a text that it had to shorten.
_CUT_OFF = -2
# Two code points that no XML file may hold; other control characters are escaped.
_NOT_XML = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
_NOT_IN_NAMES = str.maketrans(dict.fromkeys("[]:*?/\\'", "_"))
_INSTEAD = "Export CSV or JSON Lines instead."
# The same rows give the same bytes.
_CREATED = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - the format has no time zones
_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "use_zip64": True,
}


class TooLarge(StudyError):
    """A table that does not fit into XLSX; the message says what is too large, and what to do."""


class Sheet:
    """A sheet with a bold heading that stays in view. Rows are written in order."""

    def __init__(self, sheet: Any, bold: Any, heading: Sequence[str]) -> None:
        if len(heading) > MOST_COLUMNS:
            raise TooLarge(
                f"The table has {len(heading):,} columns; an XLSX sheet holds {MOST_COLUMNS:,}. "
                f"{_INSTEAD}"
            )
        self._sheet, self._heading = sheet, list(heading)
        self._next = 1
        sheet.freeze_panes(1, 0)
        for place, name in enumerate(self._heading):
            self._text(0, place, name, bold)

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        """Append rows; None and "" are empty cells, lists and objects are JSON."""
        for row in rows:
            if self._next == MOST_ROWS:
                raise TooLarge(
                    f"The table has more than {MOST_ROWS - 1:,} rows, the most that an XLSX sheet "
                    f"holds. {_INSTEAD}"
                )
            for place, value in enumerate(row):
                self._cell(place, value)
            self._next += 1

    def _cell(self, place: int, value: Any) -> None:
        if value is None or value == "":
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(self._next, place, value)
        elif isinstance(value, int | float) and abs(value) <= _EXACT:
            self._sheet.write_number(self._next, place, value)
        else:
            if isinstance(value, dict | list | tuple):
                value = json.dumps(value, ensure_ascii=False, allow_nan=False)
            self._text(self._next, place, str(value))

    def _text(self, row: int, place: int, text: str, style: Any = None) -> None:
        if self._sheet.write_string(row, place, text.translate(_NOT_XML), style) == _CUT_OFF:
            where = f"row {row}" if row else "the heading"
            raise TooLarge(
                f"A cell in the column “{self._heading[place][:60]}” ({where}) has "
                f"{len(text):,} characters; an XLSX cell holds {MOST_CHARACTERS:,}. {_INSTEAD}"
            )


class Book:
    """An open workbook."""

    def __init__(self, workbook: Any) -> None:
        self._workbook = workbook
        self._bold = workbook.add_format({"bold": True})
        self._names: set[str] = set()

    def sheet(self, name: str, heading: Sequence[str]) -> Sheet:
        """Add a sheet. Names are shortened and numbered where the format asks for it."""
        return Sheet(self._workbook.add_worksheet(self._unused(name)), self._bold, heading)

    def _unused(self, name: str) -> str:
        """A name that spreadsheets accept: short, unused, and without forbidden characters."""
        plain = name.translate(_NOT_IN_NAMES) or "sheet"
        chosen, number = plain[:_SHEET_NAME], 1
        while chosen.lower() in self._names:
            number += 1
            chosen = f"{plain[: _SHEET_NAME - len(str(number)) - 1]}_{number}"
        self._names.add(chosen.lower())
        return chosen


@contextmanager
def workbook(path: Path) -> Iterator[Book]:
    """A new workbook that is written to `path` at the end. Raises `TooLarge`."""
    import xlsxwriter

    # Rows wait in files of this folder, and an error leaves none of them behind.
    with tempfile.TemporaryDirectory() as folder, path.open("wb") as file:
        book = xlsxwriter.Workbook(file, {**_OPTIONS, "tmpdir": folder})
        book.set_properties({"created": _CREATED})
        try:
            yield Book(book)
        finally:
            book.close()
