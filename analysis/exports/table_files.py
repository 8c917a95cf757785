"""Write rows to files in any number of formats, in one pass."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from analysis.errors import ExportError
from analysis.exports.columns import Column, ColumnKind
from studies.exporters.tables import CsvWriter, csv_cells, workbook
from studies.extra import Kind
from studies.models.studies import Study

ExportRow = dict[str, Any]
OnRows = Callable[[int], object]

BATCH = 1_000  # rows per write


@dataclass(frozen=True)
class ExportTableFile:
    """A table to export.

    Rows have the `columns` of a CSV or Parquet file in order; otherwise `cells` flattens them to
    some of the columns. `names_people` marks a table with platform ids, which only the file's owner
    can read. `study` is the study that the rows are of, which a format may name or ask.
    """

    name: str
    columns: tuple[Column, ...]
    rows: Callable[[], Iterator[ExportRow]]
    cells: Callable[[ExportRow], ExportRow] | None = None
    names_people: bool = False
    study: Study | None = None


class TableBatch:
    """Some rows of a table, also as columns for the formats that need them."""

    def __init__(self, table: ExportTableFile, rows: list[ExportRow]) -> None:
        self.table, self.rows = table, rows

    @cached_property
    def columns(self) -> list[tuple[Any, ...]]:
        cells: Iterator[Iterable[Any]]
        if (flat := self.table.cells) is None:
            cells = (row.values() for row in self.rows)
        else:
            names = [column.name for column in self.table.columns]
            cells = ([flat_row.get(name) for name in names] for flat_row in map(flat, self.rows))
        columns = zip(*cells, strict=True)
        return [
            tuple(_json_texts(values)) if column.kind == "json" else values
            for column, values in zip(self.table.columns, columns, strict=True)
        ]


Put = Callable[[TableBatch], None]
TableWriter = Callable[[ExportTableFile, Path], AbstractContextManager[Put]]


@dataclass(frozen=True)
class ExportFormat:
    """A format that an extra adds.

    It is offered for every table that is offered as CSV, or if not `is_general` only for tables
    that name it. `write` opens a file and yields what takes its rows; `suffix` ends the file's
    name. `missing` says what must be installed first, and how; empty if nothing. A bundle has its
    file of a table in the `folder`, which may name the {table}; empty: in one of the format's name.
    """

    name: str
    label: str
    suffix: str
    media_type: str
    write: TableWriter
    is_general: bool = True
    missing: Callable[[], str] = lambda: ""
    folder: str = ""


MORE_FORMATS: Kind[ExportFormat] = Kind("exports", "formats")


def added_format(name: str) -> ExportFormat | None:
    """The format of an extra; None if no extra has one of this name."""
    return next(
        (export_format for export_format in MORE_FORMATS if export_format.name == name), None
    )


def suffix_of(format: str) -> str:
    """How the name of a file in this format ends, without the dot."""
    return added.suffix if (added := added_format(format)) else format


def _json_texts(values: Iterable[Any]) -> Iterator[str | None]:
    """Lists and objects as JSON; equal ones share one text."""
    texts: dict[int, str] = {}
    for value in values:
        if value is None:
            yield None
        else:
            text = texts.get(id(value))
            if text is None:
                text = texts[id(value)] = to_json(value)
            yield text


def write_table(
    table: ExportTableFile, paths: Mapping[str, Path], on_rows: OnRows | None = None
) -> int:
    """Write the rows of `table` to every path, by format, and return the number of rows.

    Files are written under temporary names and renamed once all are complete.
    """
    with ExitStack() as stack:
        parts = {path: stack.enter_context(_part(path)) for path in paths.values()}
        count = 0
        for written in _put_rows(table, {format: parts[path] for format, path in paths.items()}):
            count += written
            if on_rows is not None:
                on_rows(written)
        for path, part in parts.items():
            # mkstemp sets mode 0600. Only a file without platform ids becomes readable by others.
            if not table.names_people:
                part.chmod(0o644)
            part.replace(path)
    return count


def _put_rows(table: ExportTableFile, paths: Mapping[str, Path]) -> Iterator[int]:
    with ExitStack() as open_files:
        puts = [
            open_files.enter_context(_writer(format)(table, path)) for format, path in paths.items()
        ]
        rows = table.rows()
        while batch := list(islice(rows, BATCH)):
            columns = TableBatch(table, batch)
            for put in puts:
                put(columns)
            yield len(batch)


def check_replaceable(path: Path) -> None:
    """Raise `ExportError` for a device or a pipe, which a new file would take the place of."""
    if path.exists() and not path.is_file():
        raise ExportError(f"{path} is no file. Name a new file, or one to replace.")


@contextmanager
def _part(path: Path) -> Iterator[Path]:
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    part = Path(name)
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _json_lines(table: ExportTableFile, path: Path) -> Iterator[Put]:
    with path.open("w", encoding="utf-8", newline="\n") as file:

        def put(batch: TableBatch) -> None:
            file.writelines(f"{to_json(row)}\n" for row in batch.rows)

        yield put


@contextmanager
def _json_array(table: ExportTableFile, path: Path) -> Iterator[Put]:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        before = "["

        def put(batch: TableBatch) -> None:
            nonlocal before
            for row in batch.rows:
                file.write(f"{before}\n{to_json(row)}")
                before = ","

        yield put
        file.write("\n]\n" if before == "," else "[]\n")


def csv_writer(*, separator: str = ",", decimal: str = ".", mark: bool = False) -> TableWriter:
    """A writer of CSV; `mark` writes a byte order mark first."""

    @contextmanager
    def write(table: ExportTableFile, path: Path) -> Iterator[Put]:
        with path.open("w", encoding="utf-8-sig" if mark else "utf-8", newline="") as file:
            writer = CsvWriter(file, separator=separator)
            writer.row(column.name for column in table.columns)

            def put(batch: TableBatch) -> None:
                kinds = (column.kind for column in table.columns)
                writer.columns(
                    _csv_column(values, kind, decimal)
                    for kind, values in zip(kinds, batch.columns, strict=True)
                )

            yield put

    return write


def _csv_column(values: Iterable[Any], kind: ColumnKind, decimal: str) -> Iterable[Any]:
    if kind == "number" and decimal != ".":
        return ("" if value is None else str(value).replace(".", decimal) for value in values)
    # Times start with a digit and JSON with a bracket, so neither is a formula.
    return values if kind in ("time", "json", "integer", "number") else csv_cells(values)


TRUTHS = {"true": True, "false": False}


@contextmanager
def _xlsx(table: ExportTableFile, path: Path) -> Iterator[Put]:
    """A sheet with the rows, and one that describes the columns."""
    with workbook(path) as book:
        sheet = book.sheet(table.name, [column.name for column in table.columns])

        def put(batch: TableBatch) -> None:
            kinds = (column.kind for column in table.columns)
            columns = (
                (TRUTHS.get(value, value) for value in values) if kind == "boolean" else values
                for kind, values in zip(kinds, batch.columns, strict=True)
            )
            sheet.rows(zip(*columns, strict=True))

        yield put
        about = book.sheet("columns", ["column", "kind", "meaning"])
        about.rows((column.name, column.kind, column.meaning) for column in table.columns)


_WRITERS: dict[str, TableWriter] = {
    "jsonl": _json_lines,
    "json": _json_array,
    "csv": csv_writer(),
    "xlsx": _xlsx,
}


def _writer(format: str) -> TableWriter:
    return added.write if (added := added_format(format)) else _WRITERS[format]


def to_json(value: Any, *, indent: int | None = None) -> str:
    if indent is None:
        return _ENCODER.encode(value)
    return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
