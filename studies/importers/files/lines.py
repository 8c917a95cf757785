"""The lines of a file, one at a time, within the limits."""

from collections.abc import Iterator
from typing import IO, Any

from studies.importers.files.faults import Fault
from studies.importers.files.limits import MAX_DEPTH, MAX_LINES, MAX_ROW


class BadLine(Exception):
    """A line that cannot be read; the argument is its fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(str(fault))


def lines_of(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """Each line of the file `name`. Raises `BadLine` if one is too long or there are too many."""
    number = 0
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
        yield line


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
