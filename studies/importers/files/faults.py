"""Faults of a file: each with its line, its rule and its remedy."""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Self

from studies.errors import ImportRefused
from studies.exporters.csv_out import CsvWriter
from studies.importers.files.limits import MAX_FAULTS

LISTED = 100
STOPPED = "Reading stopped there: the rest of the file was not checked. "
_LONGEST = 1_000  # characters of a fault's message


@dataclass(frozen=True)
class Fault:
    """One fault that prevents a file from being imported.

    `rule` groups faults of one kind; `message` states what and where, `remedy` how to fix it.
    `names_file`: the file is one of several that are read together, so the message names it.
    """

    line: int | None
    field: str
    rule: str
    message: str
    remedy: str = ""
    value: str = ""
    file: str = ""
    names_file: bool = False

    def __post_init__(self) -> None:
        """Cut long texts that a fault repeats from the file."""
        for name in ("field", "rule", "message", "remedy", "value"):
            text = getattr(self, name)
            if len(text) > _LONGEST:
                object.__setattr__(self, name, f"{text[: _LONGEST - 1]}…")

    def __str__(self) -> str:
        line, message = f"Line {self.line}", self.message
        if self.line is not None and not message.startswith("Line "):
            message = f"{line}: {message}"
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
    """The faults of files that are read together. Raises `Refused` if there are too many."""

    def append(self, fault: Fault, /) -> None:
        super().append(fault)
        self._check()

    def extend(self, faults: Iterable[Fault], /) -> None:
        super().extend(faults)
        self._check()

    def __iadd__(self, faults: Iterable[Fault], /) -> Self:  # type: ignore[override, misc]
        self.extend(faults)
        return self

    def _check(self) -> None:
        if len(self) > MAX_FAULTS:
            raise Refused(self)


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


def faults_csv(faults: Iterable[Fault]) -> str:
    """All faults as CSV."""
    out = io.StringIO()
    writer = CsvWriter(out)
    writer.row(["file", "line", "field", "rule", "message", "remedy", "value"])
    writer.rows([f.file, f.line, f.field, f.rule, f.message, f.remedy, f.value] for f in faults)
    return out.getvalue()
