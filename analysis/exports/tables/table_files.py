"""Writes rows to files: one pass over the rows for any number of formats."""

import datetime as dt
import hashlib
import importlib.util
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.exports.errors import ExportError
from analysis.exports.tables.columns import Column, Kind
from studies.exporters.csv_out import CsvWriter

ExportRow = dict[str, Any]
Put = Callable[[ExportRow], None]
OnRow = Callable[[], None]

# Rows of a Parquet row group: enough to compress well, few enough to fit in memory.
_BATCH = 5_000


@dataclass(frozen=True)
class Table:
    """A table to export; `cells` flattens a row to the `columns` of a CSV or Parquet file.

    `names_people` marks a table with platform ids, which only the file's owner can read.
    """

    name: str
    columns: tuple[Column, ...]
    rows: Callable[[], Iterator[ExportRow]]
    cells: Callable[[ExportRow], ExportRow] = dict
    names_people: bool = False


def write_table(table: Table, paths: Mapping[str, Path], on_row: OnRow | None = None) -> int:
    """Write the rows of `table` to every path, by format, and return the number of rows.

    The files are written under other names and renamed when all of them are complete.
    """
    with ExitStack() as stack:
        parts = {path: stack.enter_context(_part(path)) for path in paths.values()}
        count = 0
        with ExitStack() as open_files:
            puts = [
                open_files.enter_context(_WRITERS[format](table, parts[path]))
                for format, path in paths.items()
            ]
            for row in table.rows():
                for put in puts:
                    put(row)
                count += 1
                if on_row is not None:
                    on_row()
        for path, part in parts.items():
            # mkstemp gives mode 0600. Only a file without platform ids becomes readable by others.
            if not table.names_people:
                part.chmod(0o644)
            part.replace(path)
    return count


@contextmanager
def _part(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    part = Path(name)
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _json_lines(table: Table, path: Path) -> Iterator[Put]:
    with path.open("w", encoding="utf-8", newline="\n") as file:

        def put(row: ExportRow) -> None:
            file.write(f"{to_json(row)}\n")

        yield put


@contextmanager
def _json_array(table: Table, path: Path) -> Iterator[Put]:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        before = "["

        def put(row: ExportRow) -> None:
            nonlocal before
            file.write(f"{before}\n{to_json(row)}")
            before = ","

        yield put
        file.write("\n]\n" if before == "," else "[]\n")


@contextmanager
def _csv(table: Table, path: Path) -> Iterator[Put]:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.row(column.name for column in table.columns)

        def put(row: ExportRow) -> None:
            cells = table.cells(row)
            writer.row(cells.get(column.name) for column in table.columns)

        yield put


@contextmanager
def _parquet(table: Table, path: Path) -> Iterator[Put]:
    import pyarrow  # an optional extra, missing in the base installation
    import pyarrow.parquet

    types = {
        "text": pyarrow.string(),
        "json": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "time": pyarrow.timestamp("s", tz="UTC"),
    }
    schema = pyarrow.schema(
        [
            pyarrow.field(column.name, types[column.kind], metadata={"meaning": column.meaning})
            for column in table.columns
        ],
        metadata={"pandas": to_json(_for_pandas(table.columns))},
    )
    columns: list[list[Any]] = [[] for _ in table.columns]
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:

        def flush() -> None:
            arrays = [
                pyarrow.array(values, type)
                for values, type in zip(columns, schema.types, strict=True)
            ]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
            for values in columns:
                values.clear()

        def put(row: ExportRow) -> None:
            cells = table.cells(row)
            for column, values in zip(table.columns, columns, strict=True):
                values.append(_typed(cells.get(column.name), column.kind))
            if columns and len(columns[0]) == _BATCH:
                flush()

        yield put
        if columns and columns[0]:
            flush()


def _for_pandas(columns: Sequence[Column]) -> dict[str, Any]:
    """Metadata by which pandas reads integer and boolean columns with missing values.

    Without it, pandas turns integers into floats and booleans into objects.
    """
    nullable = {"integer": ("int64", "Int64"), "boolean": ("bool", "boolean")}
    nullable_columns = [
        {
            "name": column.name,
            "field_name": column.name,
            "pandas_type": nullable[column.kind][0],
            "numpy_type": nullable[column.kind][1],
            "metadata": None,
        }
        for column in columns
        if column.kind in nullable
    ]
    return {"index_columns": [], "column_indexes": [], "columns": nullable_columns}


_WRITERS: dict[str, Callable[[Table, Path], AbstractContextManager[Put]]] = {
    "jsonl": _json_lines,
    "json": _json_array,
    "csv": _csv,
    "parquet": _parquet,
}


def _typed(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind == "boolean" and isinstance(value, str):
        return value == "true"
    if kind == "json" or isinstance(value, (dict, list)):
        return to_json(value)
    if kind == "time":
        return dt.datetime.fromisoformat(value)
    return value


def to_json(value: Any, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_pyarrow() -> None:
    if not has_pyarrow():
        raise ExportError(
            "Parquet needs the package pyarrow, which is not installed. "
            "Install it with `pip install pyarrow`, or export csv or jsonl."
        )


def has_pyarrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None
