"""Faults of a file: each with its line, its rule and its remedy."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self

from studies.errors import ImportRefused
from studies.exporters.csv_out import CsvWriter
from studies.importers.files.limits import MAX_FAULTS

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
    """One fault that prevents a file from being imported.

    `rule` groups faults of one kind; `message` states what and where, `remedy` how to fix it.
    `names_file`: the file is one of several that are read together, so the message names it.
    `item` is the id of the row's item, `is_entry` says that `line` counts the entries of a list,
    `ends_reading` that nothing after the fault was read.
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
        found = tuple(islice(faults, MAX_FAULTS + 1))
        self.faults, self.is_cut = found[:MAX_FAULTS], is_cut or len(found) > MAX_FAULTS
        super().__init__(summary(self.faults, is_cut=self.is_cut))


class Faults(list[Fault]):
    """The faults of files that are read together. Raises `Refused` if there are too many.

    With `skip`, faults of single rows are kept apart in `skipped`, because these rows are left out.
    """

    def __init__(self, found: Iterable[Fault] = (), *, skip: bool = False) -> None:
        super().__init__()
        self.skip = skip
        self.skipped: list[Fault] = []
        self.extend(found)

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
    for found in group(faults):
        lines.append(f"{found.rule} ({found.count:,})")
        lines += [
            f"  {fault.file}: {fault}" if several and not fault.names_file else f"  {fault}"
            for fault in found.listed
        ]
        if left := found.count - len(found.listed):
            lines.append(f"  … and {left:,} more")
    return "\n".join(lines)


def skipped_rows(faults: Sequence[Fault]) -> str:
    """Lines for a result about rows that were left out on request; empty if there are none."""
    if not faults:
        return ""
    rows = len({(fault.file, fault.line) for fault in faults})
    shown = [f"  {fault}" for fault in faults[:LISTED]]
    more = [f"  … and {len(faults) - LISTED:,} more faults"] if len(faults) > LISTED else []
    return "\n".join(["", f"Faulty rows left out: {rows:,}.", *shown, *more])


def faults_csv(faults: Iterable[Fault]) -> str:
    """All faults as CSV."""
    out = io.StringIO()
    writer = CsvWriter(out)
    writer.row(["file", "line", "field", "rule", "message", "remedy", "value", "item"])
    writer.rows(
        [f.file, f.line, f.field, f.rule, f.message, f.remedy, f.value, f.item] for f in faults
    )
    return out.getvalue()
