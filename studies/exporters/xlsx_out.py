"""The writer of every XLSX file of the product: typed cells, of which none is a formula or a link.

XlsxWriter is imported when a workbook is opened, which only workers and commands do.
"""

import datetime as dt
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from studies.errors import StudyError

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
    """A table that XLSX cannot hold; the message says what is too large, where, and what to do."""


class Sheet:
    """A sheet with a bold heading that stays in view. Rows are written in order."""

    def __init__(self, sheet: Any, bold: Any, heading: Sequence[str]) -> None:
        if len(heading) > MOST_COLUMNS:
            raise TooLarge(
                f"The table has {len(heading):,} columns, and a sheet of XLSX holds "
                f"{MOST_COLUMNS:,}. {_INSTEAD}"
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
                    f"The table has more than {MOST_ROWS - 1:,} rows, which is all that a sheet of "
                    f"XLSX holds. {_INSTEAD}"
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
                f"{len(text):,} characters, and a cell of XLSX holds {MOST_CHARACTERS:,}. "
                f"{_INSTEAD}"
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
        """The name as spreadsheets accept it: short, without some signs, and not used before."""
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
