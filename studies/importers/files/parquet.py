"""Parquet files as lines of JSON, so that everything that reads JSON Lines reads them too.

The rows are converted as they are read. A small file can hold the same long text a million times;
so the texts of every few rows are measured before they are copied.
"""

import datetime as dt
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import IO, Any

from studies.importers.files.faults import Fault, Refused
from studies.importers.files.limits import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_LINES,
    MAX_PACKED_BYTES,
    MAX_PACKED_VALUES,
    MAX_ROW,
    MAX_UNPACKED,
)

MAGIC = b"PAR1"
_ROWS_AT_ONCE = 64
_BYTES_AT_ONCE = 8 * 2**20
_VALUES_PER_BYTE = 4
_BYTES_PER_BYTE = 20
_MB = 2**20


def is_parquet(start: bytes) -> bool:
    """Whether a file begins like a Parquet file."""
    return start.startswith(MAGIC)


def json_stream(file: IO[bytes], name: str) -> IO[bytes]:
    """The rows of the Parquet file `name` as lines of JSON; `file` is closed with the stream.

    Raises `Refused` if it cannot be read, now or while it is read.
    """
    try:
        return io.BufferedReader(Parts(file, _lines(_opened(file, name), name)))
    except BaseException:
        file.close()
        raise


class Parts(io.RawIOBase):
    """A stream of the bytes that an iterator yields."""

    def __init__(self, file: IO[bytes], parts: Iterator[bytes]) -> None:
        self._file, self._parts, self._rest = file, parts, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = part
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        self._parts = iter(())
        self._file.close()
        super().close()


def _opened(file: IO[bytes], name: str) -> Any:
    """The open file, within the limits that its description can show."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        about = pq.read_metadata(file)
        texts = [
            about.schema.column(number).path
            for number in range(about.num_columns)
            if about.schema.column(number).physical_type == "BYTE_ARRAY"
        ]
        file.seek(0)
        # Texts stay in the dictionary of the file, where a repeated one is held once.
        found = pq.ParquetFile(file, read_dictionary=texts)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise _broken(name, error) from error
    size = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
    if about.num_rows > MAX_LINES:
        message = f"the file has {about.num_rows:,} rows; at most {MAX_LINES:,} are read."
        raise _refused(name, message, "Split it and import the parts.")
    if about.num_columns > MAX_COLUMNS:
        message = f"the file has {about.num_columns:,} columns; at most {MAX_COLUMNS:,} are read."
        raise _refused(name, message, "Leave out what is not needed.")
    packed = file.seek(0, io.SEEK_END)
    if size > (most := min(MAX_UNPACKED, MAX_PACKED_BYTES + _BYTES_PER_BYTE * packed)):
        message = f"the file unpacks to {size // _MB:,} MB; at most {most // _MB} are read."
        raise _refused(name, message, "Split it and import the parts.")
    # Nulls, zeros and repeated values need almost no bytes, but as much work as others.
    values = sum(
        about.row_group(group).column(number).num_values
        * max(1, about.schema.column(number).max_definition_level)
        for group in range(about.num_row_groups)
        for number in range(about.num_columns)
    )
    if values > (most := MAX_PACKED_VALUES + _VALUES_PER_BYTE * packed):
        message = f"the file holds {values:,} values in so few bytes; at most {most:,} are read."
        raise _refused(name, message, "Leave out empty and repeated columns.")
    return found


def _lines(found: Any, name: str) -> Iterator[bytes]:
    import pyarrow as pa

    written = first = 0
    about = found.metadata
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    per_row = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
    at_once = max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // max(1, per_row)))
    try:
        for batch in found.iter_batches(batch_size=at_once):
            for column, cells in zip(batch.schema.names, batch.columns, strict=True):
                if (longest := _longest(cells)) > MAX_ROW:
                    message = (
                        f"in rows {first + 1:,} to {first + batch.num_rows:,}, a cell of the "
                        f"column {column} has {longest:,} bytes; at most {MAX_ROW:,} are read."
                    )
                    raise _refused(name, message, "Shorten it, or leave the column out.")
            for row in batch.to_pylist():
                line = json.dumps(_plain(row), ensure_ascii=False).encode("utf-8", "replace")
                written += len(line) + 1
                if written > MAX_BYTES:
                    message = f"the rows are larger than {MAX_BYTES // _MB} MB as text."
                    raise _refused(name, message, "Split it and import the parts.")
                yield line + b"\n"
            first += batch.num_rows
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise _broken(name, error) from error


def _longest(cells: Any) -> int:
    """The length in bytes of the longest text in an array, also inside of lists and objects."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = cells.type
    if pa.types.is_dictionary(kind):
        return _longest(cells.dictionary)
    if pa.types.is_struct(kind):
        return max((_longest(part) for part in cells.flatten()), default=0)
    if pa.types.is_map(kind):
        return max(_longest(cells.keys), _longest(cells.items))
    if pa.types.is_nested(kind):
        return _longest(cells.flatten())
    with suppress(pa.ArrowNotImplementedError):
        return int(pc.max(pc.binary_length(cells)).as_py() or 0)
    return 0


def _plain(value: Any) -> Any:
    """A value of a row as JSON has it; bytes that are no text, such as pictures, are left out."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return None
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _broken(name: str, error: Exception) -> Refused:
    reason = str(error).split("\n")[0][:200].rstrip(".") or "it is damaged"
    message = f"the Parquet file cannot be read: {reason}."
    return _refused(name, message, "Write it again, or save it as JSON Lines or CSV.")


def _refused(name: str, message: str, remedy: str) -> Refused:
    return Refused([Fault(None, "", "file cannot be used", message, remedy, file=name)])
