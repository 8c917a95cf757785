"""The rows of a file of answers of people or models: CSV or JSON Lines, whatever the columns."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

from studies.exporters.csv_out import as_typed
from studies.importers.files.bundle import File
from studies.importers.files.readers import BadLine, read_json_lines
from studies.importers.files.table import table_rows

Rows = Iterator[tuple[int, Any] | BadLine]


def read_answer_rows(file: File, *, required: Sequence[str]) -> Rows:
    """Each row with the line it starts on, or what is wrong with it; blank lines are skipped.

    A CSV file is UTF-8 with commas, semicolons or tabs and a header that holds the `required`
    columns; its empty cells are None.
    """
    first = file.data.lstrip(b"\xef\xbb\xbf").lstrip()[:1]
    return read_json_lines(file) if first == b"{" else _csv_rows(file, required)


def _csv_rows(file: File, required: Sequence[str]) -> Rows:
    for found in table_rows(io.BytesIO(file.data), file.name, required=required):
        if isinstance(found, BadLine):
            yield found
        else:
            line, cells = found
            yield line, {column: as_typed(cell) or None for column, cell in cells.items()}
