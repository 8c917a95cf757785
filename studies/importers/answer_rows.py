"""The rows of a file of answers of people or models: CSV or JSON Lines, whatever the columns."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from studies.importers.bundle import File
from studies.importers.faults import Fault
from studies.importers.readers import BadLine, read_json_lines

Rows = Iterator[tuple[int, Any] | BadLine]


def read_answer_rows(file: File, *, required: Sequence[str]) -> Rows:
    """Each row with the line it starts on, or what is wrong with it; blank lines are skipped.

    A CSV file is UTF-8 with commas, semicolons or tabs and a header that holds the `required`
    columns; its empty cells are None.
    """
    first = file.data.lstrip(b"\xef\xbb\xbf").lstrip()[:1]
    return read_json_lines(file) if first == b"{" else _csv_rows(file, required)


def _csv_rows(file: File, required: Sequence[str]) -> Rows:
    def bad(line: int, rule: str, message: str, remedy: str) -> BadLine:
        return BadLine(Fault(line, "", rule, message, remedy, file=file.name))

    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = file.data.count(b"\n", 0, error.start) + 1
        yield bad(line, "not UTF-8", f"Line {line} is not UTF-8.", "Save the file as ‘CSV UTF-8’.")
        return
    delimiter = max(",;\t", key=text.split("\n", 1)[0].count)
    csv.field_size_limit(1_000_000)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    start = 1
    try:
        for cells in reader:
            line, start = start, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [cell.strip() for cell in cells]
                missing = [column for column in required if column not in header]
                for column in missing:
                    message = f"There is no column {column}. The file has: {', '.join(header)}."
                    remedy = "Add it, or rename the one you mean."
                    yield bad(line, "missing column", message, remedy)
                if missing:
                    return
            elif len(cells) != len(header):
                message = f"there are {len(cells)} cells, the header has {len(header)}."
                yield bad(line, "number of cells", message, "Quote cells with a delimiter.")
            else:
                row = zip(header, cells, strict=True)
                yield line, {column: cell.strip() or None for column, cell in row}
    except csv.Error as error:
        message = f"this cannot be read as CSV ({error})."
        yield bad(start, "not CSV", message, "Quote cells that hold quotes or line ends.")
