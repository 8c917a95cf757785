"""Rows of a CSV file of any columns, one after another; the file need not be in memory."""

import csv
from collections.abc import Iterable, Iterator, Sequence

from studies.importers.faults import Fault
from studies.importers.readers import BadLine, not_utf8

MAX_CELL = 1_000_000


def table_rows(
    lines: Iterable[bytes], name: str, *, required: Sequence[str] = (), escape: str | None = None
) -> Iterator[tuple[int, dict[str, str]] | BadLine]:
    """Each row as {column: trimmed cell} with the line it starts on, or what is wrong with it.

    Commas, semicolons or tabs, whichever the header has most of. `escape` is the character that
    stands before a quote inside a cell, where doubled quotes are not all that a file uses. Blank
    lines are skipped; reading ends where the quotes do not match or a `required` column is missing.
    """
    csv.field_size_limit(MAX_CELL)
    header: list[str] = []
    start = 1
    try:
        text = _decoded(lines, name)
        first = next(text, "")
        delimiter = delimiter_of(first)
        reader = csv.reader(
            _chain(first, text), delimiter=delimiter, escapechar=escape, strict=True
        )
        for cells in reader:
            line, start = start, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip() for cell in cells]
                faults = _header_faults(line, header, required, name)
                yield from faults
                if faults:
                    return
            elif len(cells) != len(header):
                message = f"there are {len(cells)} cells, the header has {len(header)}."
                remedy = "Quote cells with a delimiter."
                yield BadLine(Fault(line, "", "number of cells", message, remedy, file=name))
            else:
                yield line, {c: cell.strip() for c, cell in zip(header, cells, strict=True)}
    except csv.Error as error:
        message = f"this cannot be read as CSV ({error})."
        remedy = "Quote cells that hold quotes or line ends."
        yield BadLine(Fault(start, "", "not CSV", message, remedy, file=name))
    except BadLine as bad:
        yield bad


def delimiter_of(header: str) -> str:
    return max(",;\t", key=header.count)


def _header_faults(
    line: int, header: list[str], required: Sequence[str], name: str
) -> list[BadLine]:
    remedy = "Add it, or rename the one you mean."
    return [
        BadLine(
            Fault(
                line, column, "missing column",
                f"There is no column {column}. The file has: {', '.join(header)}.", remedy,
                file=name,
            )
        )
        for column in required
        if column not in header
    ]  # fmt: skip


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise BadLine(not_utf8(number, name)) from error
