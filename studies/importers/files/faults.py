"""Faults of a file, each with its line, its rule and its remedy; limits; the fields of one row.

The limits are far above what a study needs. They protect against files that were made by mistake,
or to keep a machine busy.
"""

import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

from studies.errors import ImportRefused
from studies.exporters.tables import CsvWriter
from studies.texts.cells import SeveralValues, is_error, name_of, unlisted, value_of

MAX_BYTES = 200 * 1024 * 1024  # of one file, unpacked
MAX_UNPACKED = 500 * 1024 * 1024  # of all files in a zip together
MAX_MEMBERS = 10_000  # files in a zip
MAX_DIRECTORY = 4 * 1024 * 1024  # bytes of the list of files in a zip
MAX_LINES = 1_000_000
MAX_ROW = 2_000_000  # bytes of one line of JSON, or of one row of CSV
MAX_CELL = 1_000_000  # characters
MAX_COLUMNS = 1_000
MAX_VALUES = 50_000  # of one line of JSON: what is between commas, lists and objects
MAX_DOCUMENT = 48 * 1024 * 1024  # bytes of a whole file of JSON, which is held in memory
MAX_DOCUMENT_VALUES = 3_000_000  # of it: its commas, lists and objects
MAX_FILE_VALUES = 80_000_000  # of all lines of a file; a list or an object counts eight times
MAX_PACKED_BYTES = 100 * 1024 * 1024  # unpacked, of a Parquet file, and 20 times its own
MAX_PACKED_VALUES = 2_000_000  # of a Parquet file, and four more for each of its bytes
MAX_DEPTH = 32  # nesting of objects and lists
MAX_FAULTS = 1_000  # reading stops after this number
MAX_FAULTS_OF_A_ROW = 100
MAX_PAIRS = 1_000_000  # pairs of essays, or of people, that an importer compares
MAX_NOTED_KEYS = 100  # keys that are not part of the format, each reported once


LISTED = 100
STOPPED = "Reading stopped there: the rest of the file was not checked. "
_LONGEST = 1_000  # characters of a fault's message


class FaultEntry(int):
    """The place of a row that is not a line of its own: its number in a list, from 1."""


def place(line: int) -> str:
    """“Line 3”, or “Entry 3” of a list."""
    return f"{'Entry' if isinstance(line, FaultEntry) else 'Line'} {int(line)}"


@dataclass(frozen=True)
class Fault:
    """A fault that prevents the import of a file.

    `rule` groups faults of one kind; `message` states what and where, `remedy` how to fix it.
    `names_file`: several files are read together, so the message names the file. `item` is the id
    of the row's item, `is_entry` says that `line` counts the entries of a list, `ends_reading` that
    nothing after the fault was read.
    """

    line: int | None
    field: str
    rule: str
    message: str
    remedy: str = ""
    value: str = ""
    file: str = ""
    names_file: bool = False
    item: str = ""
    is_entry: bool = False
    ends_reading: bool = False

    def __post_init__(self) -> None:
        """Cut long texts that a fault repeats from the file."""
        if isinstance(self.line, FaultEntry):
            object.__setattr__(self, "is_entry", True)
            object.__setattr__(self, "line", int(self.line))
        for name in ("field", "rule", "message", "remedy", "value", "item"):
            text = getattr(self, name)
            if len(text) > _LONGEST:
                object.__setattr__(self, name, f"{text[: _LONGEST - 1]}…")

    def __str__(self) -> str:
        line, message = f"{'Entry' if self.is_entry else 'Line'} {self.line}", self.message
        if self.line is not None and not message.startswith("Line "):
            named = not self.item or f"“{self.item}”" in message
            message = f"{line}{'' if named else f', item “{self.item}”'}: {message}"
        if self.names_file and self.file and self.file not in message:
            if message.startswith(line):
                message = f"{line} of {self.file}{message.removeprefix(line)}"
            else:
                message = f"{self.file}: {message}"
        return f"{message} {self.remedy}".rstrip()


@dataclass(frozen=True)
class FaultGroup:
    """The faults of one rule: their number, and the listed ones."""

    rule: str
    count: int
    listed: tuple[Fault, ...]


class Refused(ImportRefused):
    """A whole file was refused; `faults` are its faults, in the order of the file.

    `is_cut`: there are more than `MAX_FAULTS`; the rest of the file was not read.
    """

    def __init__(self, faults: Iterable[Fault], *, is_cut: bool = False) -> None:
        first = tuple(islice(faults, MAX_FAULTS + 1))
        self.faults, self.is_cut = first[:MAX_FAULTS], is_cut or len(first) > MAX_FAULTS
        super().__init__(summary(self.faults, is_cut=self.is_cut))


def refused(name: str, message: str, remedy: str, line: int | None = None) -> Refused:
    """The refusal of the file `name` as a whole."""
    return Refused([Fault(line, "", "file cannot be used", message, remedy, file=name)])


class Faults(list[Fault]):
    """The faults of files that are read together. Raises `Refused` if there are too many.

    With `skip`, faults of single rows are kept apart in `skipped`, because these rows are left out.
    """

    def __init__(self, faults: Iterable[Fault] = (), *, skip: bool = False) -> None:
        super().__init__()
        self.skip = skip
        self.skipped: list[Fault] = []
        self.extend(faults)

    def append(self, fault: Fault, /) -> None:
        is_skipped = self.skip and fault.line is not None and not fault.ends_reading
        if is_skipped:
            self.skipped.append(fault)
        else:
            super().append(fault)
        self._check()

    def extend(self, faults: Iterable[Fault], /) -> None:
        for fault in faults:
            self.append(fault)

    def __iadd__(self, faults: Iterable[Fault], /) -> Self:  # type: ignore[override, misc]
        self.extend(faults)
        return self

    def _check(self) -> None:
        if max(len(self), len(self.skipped)) > MAX_FAULTS:
            raise Refused([*self, *self.skipped])


def group(faults: Iterable[Fault]) -> list[FaultGroup]:
    """Group faults by rule, the most frequent first; the first 100 of the file are listed."""
    counts: dict[str, int] = {}
    listed: dict[str, list[Fault]] = {}
    for number, fault in enumerate(faults):
        counts[fault.rule] = counts.get(fault.rule, 0) + 1
        listed.setdefault(fault.rule, [])
        if number < LISTED:
            listed[fault.rule].append(fault)
    return sorted(
        (FaultGroup(rule, count, tuple(listed[rule])) for rule, count in counts.items()),
        key=lambda g: -g.count,
    )


def summary(faults: tuple[Fault, ...], *, is_cut: bool = False) -> str:
    """The text for a terminal: a head line, then the faults grouped by rule."""
    many = "1 fault" if len(faults) == 1 else f"{len(faults):,} faults"
    several = len({f.file for f in faults if not f.names_file}) > 1
    lines = [f"{many[0].upper()}{many[1:]} found. {STOPPED if is_cut else ''}Nothing was imported."]
    for of_rule in group(faults):
        lines.append(f"{of_rule.rule} ({of_rule.count:,})")
        lines += [
            f"  {fault.file}: {fault}" if several and not fault.names_file else f"  {fault}"
            for fault in of_rule.listed
        ]
        if left := of_rule.count - len(of_rule.listed):
            lines.append(f"  … and {left:,} more")
    return "\n".join(lines)


def skipped_rows(faults: Sequence[Fault]) -> str:
    """Lines about rows that were left out on request; empty if there are none."""
    if not faults:
        return ""
    rows = len({(fault.file, fault.line) for fault in faults})
    listed = [f"  {fault}" for fault in faults[:LISTED]]
    more = [f"  … and {len(faults) - LISTED:,} more faults"] if len(faults) > LISTED else []
    return "\n".join(["", f"Faulty rows left out: {rows:,}.", *listed, *more])


def faults_csv(faults: Iterable[Fault]) -> str:
    """All faults as CSV."""
    out = io.StringIO()
    writer = CsvWriter(out)
    writer.row(["file", "line", "field", "rule", "message", "remedy", "value", "item"])
    writer.rows(
        [f.file, f.line, f.field, f.rule, f.message, f.remedy, f.value, f.item] for f in faults
    )
    return out.getvalue()


LIMITS = {
    "question": 4_000,
    "context": 20_000,
    "response": 8_000,
    "reference": 8_000,
    "metadata": 16 * 1024,
}
_SHOWN = 80
_WHOLE = re.compile(r"\s*(-?[0-9]{1,18})(?:\.0*)?\s*")


def same_id(value: str) -> str:
    """An id as it is compared: 5.0, which programs write in a column with gaps, is 5."""
    value = name_of(value)
    with suppress(SeveralValues):
        value = value_of(value)
    match = _WHOLE.fullmatch(value)
    return match[1] if match and "." in value else value


class ImportRow:
    """One row of one file: reads its fields and keeps its faults in `faults`."""

    def __init__(self, line: int, file: str = "") -> None:
        self.line = line
        self.file = file
        self.item_id = ""  # of its item, once it is known
        self.faults: list[Fault] = []
        self.unlisted: list[str] = []  # texts that were lists of one
        self.without_captions: list[str] = []  # films with sound

    def on(self, line: int) -> str:
        """Where another row of the same file is: “on line 3”, or “in entry 3”."""
        return f"in entry {line}" if isinstance(self.line, FaultEntry) else f"on line {line}"

    def fault(
        self, field: str, rule: str, message: str, remedy: str = "", *, value: Any = ""
    ) -> None:
        excerpt = str(value)
        if len(excerpt) > _SHOWN:
            excerpt = f"{excerpt[:_SHOWN]}…"
        if len(self.faults) < MAX_FAULTS_OF_A_ROW:
            fault = Fault(
                self.line, field, rule, message, remedy, excerpt, self.file, item=self.item_id
            )
            self.faults.append(fault)

    def one(self, raw: Mapping[str, Any], field: str) -> Any:
        """The one value of a field: of a list of one, its element; several are a fault."""
        value = raw.get(field)
        try:
            if isinstance(value, str):
                return name_of(value_of(value))
            if not isinstance(value, list):
                return value
            if len(value) > 1:
                raise SeveralValues([str(element) for element in value])
            return value[0] if value else None
        except SeveralValues as error:
            self.fault(field, "several values", f"{field} is {error}.", "Give it one.", value=value)
            return None

    def text(self, raw: Mapping[str, Any], field: str, *, limit: int, name: str = "") -> str:
        """An optional text, trimmed; "" when it is absent, empty or faulty."""
        name = name or field
        value = raw.get(field)
        if isinstance(value, list) and len(value) == 1:
            [value] = value
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fault(name, f"{name} is not text", f"{name} must be text.", value=value)
            return ""
        value = value.strip()
        if (alone := unlisted(value)) != value:
            self.unlisted.append(name)
            value = alone
        if is_error(value):
            self.fault(
                name,
                "error of a spreadsheet",
                f"{name} is {value}, the error of a spreadsheet instead of a value.",
                "Correct the cell, or leave it empty.",
                value=value,
            )
        if len(value) > limit:
            self.fault(
                name,
                f"{name} is too long",
                f"{name} has {len(value):,} characters; the limit is {limit:,}.",
            )
        return value

    def number(self, raw: Mapping[str, Any], field: str) -> int | float | None:
        """An optional finite number; true and false are faults."""
        value = self.one(raw, field)
        if value is None:
            return None
        try:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                if math.isfinite(value):
                    return value
        except OverflowError:
            pass
        self.fault(field, f"{field} is not a number", f"{field} must be a number.", value=value)
        return None

    def whole_number(
        self, raw: Mapping[str, Any], field: str, *, low: int, high: int
    ) -> int | None:
        """An optional whole number, perhaps as text or as 7.0; true, 7.5 and “seven” are faults."""
        value = self.one(raw, field)
        if value is None or value == "":
            return None
        number = None
        if isinstance(value, int) and not isinstance(value, bool):
            number = value
        elif isinstance(value, float) and value.is_integer():
            number = int(value)
        elif isinstance(value, str) and (match := _WHOLE.fullmatch(value)):
            number = int(match[1])
        if number is None or not low <= number <= high:
            self.fault(
                field,
                f"{field} is out of range",
                f"{field} “{str(value)[:_SHOWN]}” is not a whole number from {low:,} to {high:,}.",
                "Correct it, or leave it empty.",
                value=value,
            )
            return None
        return number

    def one_of(
        self,
        raw: Mapping[str, Any],
        field: str,
        allowed: Sequence[str],
        *,
        default: str = "",
        name: str = "",
        hint: str = "",
    ) -> str:
        """A word from a fixed list; `default` when it is absent or faulty."""
        name = name or field
        value = self.one(raw, field)
        if value is None or value == "":
            return default
        if value not in allowed:
            self.fault(
                name,
                f"{name} is not known",
                f"{name} “{str(value)[:_SHOWN]}” is not known.",
                f"Use one of: {', '.join(allowed)}. {hint}".rstrip(),
                value=value,
            )
            return default
        return str(value)
