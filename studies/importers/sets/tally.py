"""Counts of an importer while it reads a data set."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from studies.importers.files.faults import Faults


class Watch(Protocol):
    """Shows or stores the progress of reading, in rows."""

    total: int

    def update(self, n: int = 1) -> object: ...


@dataclass
class Tally:
    """Rows read per file, exclusions with reasons, changes, and every fault."""

    watch: Watch | None = None
    rows: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    faults: Faults = field(default_factory=Faults)
    ties: int = 0

    def row(self, file: str) -> None:
        self.rows[file] += 1
        if self.watch is not None:
            self.watch.update()

    def drop(self, reason: str, count: int = 1) -> None:
        if count:
            self.dropped[reason] += count
