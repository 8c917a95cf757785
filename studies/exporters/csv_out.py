"""The writer of every CSV file of the product, with one rule against formulas.

A spreadsheet computes a cell that begins like a formula, and it reads an unquoted line break as
the end of a row, so that typed text could begin its own row. Therefore a cell that begins like a
formula gets a quote in front, and a cell with any kind of line break is quoted.
"""

import csv
import io
import json
import re
import string
from collections.abc import Iterable
from typing import Any, Protocol

# Characters that some program reads as the end of a line: a cell with one of them is quoted.
BREAKS = "\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_RARE_BREAK = re.compile("[" + BREAKS.replace("\n", "") + "]")
# Invisible characters, which a spreadsheet may drop before it looks at a cell. As characters, not
# as escapes, because PostgreSQL reads these classes too.
UNSEEN = (
    "\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
)
# The four signs that begin a formula: plain, full-width and small.
SIGNS = "=+@＝＋－＠﹦﹢﹣﹫-"
# Quotes in front are included, so that `as_typed` removes exactly what was added.
_FORMULA = re.compile(f"'*(?:[\t\r\n]|[{UNSEEN}]*[{SIGNS}])")


class TextFile(Protocol):
    def write(self, text: str, /) -> object: ...


def spreadsheet_text(cell: str) -> str:
    """Protect `cell` from being computed as a formula; `as_typed` undoes exactly this."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def as_typed(cell: str) -> str:
    """A cell of a CSV file as it was before `spreadsheet_text`."""
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
    """Many values as CSV cells: a text that begins with a letter or a digit is no formula."""
    return [
        value
        if type(value) in _NUMBERS or (type(value) is str and value[:1] in _HARMLESS)
        else csv_cell(value)
        for value in values
    ]


_NUMBERS = frozenset((int, float, type(None)))
_HARMLESS = frozenset(string.ascii_letters + string.digits)


class CsvWriter:
    """Writes rows to a text file that was opened with newline=""."""

    def __init__(self, file: TextFile, *, line_end: str = "\n") -> None:
        self._file, self._line_end = file, line_end
        # The module quotes a cell that contains a character of the line terminator: all breaks
        # are in it, and `write` puts the real end in its place.
        self._writer = csv.writer(self, lineterminator=BREAKS)

    def row(self, values: Iterable[Any]) -> None:
        """Write one row; headings can also be names that a user chose."""
        self._writer.writerow([csv_cell(value) for value in values])

    def rows(self, rows: Iterable[Iterable[Any]]) -> None:
        for row in rows:
            self.row(row)

    def columns(self, columns: Iterable[Iterable[Any]]) -> None:
        """Write many rows, given as columns of cells as `csv_cell` makes them."""
        rows = list(zip(*columns, strict=True))
        # The module compares each character with each break, so it is slow with many of them.
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
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
