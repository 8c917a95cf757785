"""The lines of a file and the JSON in it, within limits that are counted before it is parsed."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import IO, Any, AnyStr

from studies.importers.files.faults import Fault
from studies.importers.files.limits import (
    MAX_DEPTH,
    MAX_DOCUMENT,
    MAX_DOCUMENT_VALUES,
    MAX_FILE_VALUES,
    MAX_LINES,
    MAX_ROW,
    MAX_VALUES,
)

_LIST_COUNTS = 8  # a list or an object costs as much as so many plain values
MAX_LISTS = MAX_FILE_VALUES // _LIST_COUNTS
_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)


class BadLine(Exception):
    """A line that cannot be read; the argument is its fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(str(fault))


def lines_of(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Each line of the file `name`. Raises `BadLine` if one is too long or there are too many."""
    number = values = 0
    while line := stream.readline(MAX_ROW + 1):
        number += 1
        if number == 1 and line.startswith(b"PK\x03\x04"):
            message = "this is a zip of several files, or a damaged one."
            remedy = "Unpack it, and import the file with the rows."
            raise BadLine(Fault(1, "", "packed", message, remedy, file=name, ends_reading=True))
        if len(line) > MAX_ROW:
            raise too_long(number, name)
        if number > MAX_LINES:
            message = f"there are more than {MAX_LINES:,} lines."
            remedy = "Split the file and import the parts."
            raise BadLine(
                Fault(number, "", "too many lines", message, remedy, file=name, ends_reading=True)
            )
        values += values_in(line)
        if values > MAX_FILE_VALUES:
            message = "up to here the file holds more values, lists and objects than are read."
            remedy = "Leave out what is not needed, or split the file and import the parts."
            raise BadLine(
                Fault(number, "", "too many values", message, remedy, file=name, ends_reading=True)
            )
        yield line


def values_in(data: bytes) -> int:
    """What `MAX_FILE_VALUES` limits, also where the signs of it are part of a text."""
    return _signs(data, (b",",)) + _LIST_COUNTS * _signs(data, (b"[", b"{"))


def _signs(text: AnyStr, signs: Iterable[AnyStr]) -> int:
    return sum(text.count(sign) for sign in signs)


def has_too_many_values(text: str) -> bool:
    """Whether a line of JSON holds more than `MAX_VALUES`, without parsing it."""
    if _signs(text, ",[{") <= MAX_VALUES:
        return False
    return _signs(_TEXT.sub("", text), ",[{") > MAX_VALUES


def document(stream: IO[bytes]) -> Any:
    """The JSON of a whole file. Raises `ValueError` or `RecursionError`, also if it is too much."""
    data = stream.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise ValueError(f"it is larger than {MAX_DOCUMENT >> 20} MB")
    if _signs(data, (b",", b"[", b"{")) > MAX_DOCUMENT_VALUES:
        raise ValueError(f"it holds more than {MAX_DOCUMENT_VALUES:,} values")
    return json.loads(data.decode("utf-8-sig"))


def too_long(line: int, name: str) -> BadLine:
    message = f"the row is longer than {MAX_ROW:,} bytes."
    remedy = "Write one item a row, and close every quote."
    return BadLine(
        Fault(line, "", "row is too long", message, remedy, file=name, ends_reading=True)
    )


def is_too_deep(value: Any) -> bool:
    """Whether objects and lists are nested more than `MAX_DEPTH` deep."""
    inside = [value]
    for _ in range(MAX_DEPTH + 1):
        inside = [
            part
            for outer in inside
            for part in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(part, (dict, list))
        ]
        if not inside:
            return False
    return True
