"""What is wrong with a file: every fault with its line, its rule and its remedy."""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass

from studies.errors import ImportRefused

LISTED = 100
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


@dataclass(frozen=True)
class Fault:
    """One thing that keeps a file from being imported.

    `rule` groups faults of one kind; `message` says what and where, `remedy` how to mend it.
    `names_file`: the file is one of several that are read together, so it is told which.
    """

    line: int | None
    field: str
    rule: str
    message: str
    remedy: str = ""
    value: str = ""
    file: str = ""
    names_file: bool = False

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
    """Faults of one rule: how many there are, and those of them that are listed."""

    rule: str
    count: int
    listed: tuple[Fault, ...]


class Refused(ImportRefused):
    """A file was refused whole; `faults` are all of its faults, in the order of the file."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(summary(self.faults))


def group(faults: Iterable[Fault]) -> list[FaultGroup]:
    """Group faults by rule, the commonest first; the first 100 of the file are listed."""
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


def summary(faults: tuple[Fault, ...]) -> str:
    """What a terminal shows: a head line, then the faults grouped by rule."""
    many = "1 fault" if len(faults) == 1 else f"{len(faults):,} faults"
    several = len({f.file for f in faults if not f.names_file}) > 1
    lines = [f"{many[0].upper()}{many[1:]} found. Nothing was imported."]
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
    """All faults as CSV. A cell that a spreadsheet would compute is made text with a quote."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["file", "line", "field", "rule", "message", "remedy", "value"])
    for f in faults:
        cells = [f.file, f.line or "", f.field, f.rule, f.message, f.remedy, f.value]
        writer.writerow([spreadsheet_text(str(cell)) for cell in cells])
    return out.getvalue()


def spreadsheet_text(cell: str) -> str:
    """`cell` such that no spreadsheet takes it for a formula; imports undo exactly this."""
    return f"'{cell}" if _FORMULA.match(cell) else cell
