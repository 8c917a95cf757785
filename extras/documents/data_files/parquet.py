"""Parquet with the kinds of the columns, written in groups of rows."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from analysis.exports.columns import Column, ColumnKind
from analysis.exports.table_files import (
    BATCH,
    TRUTHS,
    ExportFormat,
    ExportTableFile,
    Put,
    TableBatch,
    to_json,
)

_GROUP = 5_000  # rows that are compressed together: few enough to fit in memory


@contextmanager
def _write(table: ExportTableFile, path: Path) -> Iterator[Put]:
    import pyarrow
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
    kinds = [column.kind for column in table.columns]
    waiting: list[TableBatch] = []
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:

        def flush() -> None:
            columns = zip(*(batch.columns for batch in waiting), strict=True)
            arrays = [
                _array(chain.from_iterable(parts), type, kind)
                for parts, type, kind in zip(columns, schema.types, kinds, strict=True)
            ]
            writer.write_batch(pyarrow.record_batch(arrays, schema=schema))
            waiting.clear()

        def put(batch: TableBatch) -> None:
            waiting.append(batch)
            if len(waiting) * BATCH == _GROUP:
                flush()

        yield put
        if waiting and table.columns:
            flush()


def _array(values: Iterable[Any], type: Any, kind: ColumnKind) -> Any:
    import pyarrow

    if kind == "time":
        return pyarrow.array(list(values), pyarrow.string()).cast(type)
    if kind == "boolean":
        values = (TRUTHS.get(value, value) for value in values)
    return pyarrow.array(list(values), type)


def _for_pandas(columns: Sequence[Column]) -> dict[str, Any]:
    """Metadata that lets pandas read integer and boolean columns with missing values.

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


PARQUET = ExportFormat(
    "parquet", "Parquet", "parquet", "application/x-parquet", _write, folder="data/{table}"
)
