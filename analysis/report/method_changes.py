"""Changes of methods, by which `verify` explains other numbers for the same answers."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).resolve().parents[2] / "docs" / "methods" / "changes.toml"


@dataclass(frozen=True)
class MethodChange:
    """A change of a method, on an ISO date, and patterns of the values that it can change."""

    date: str
    title: str
    page: str
    values: tuple[str, ...]

    def explains(self, path: str) -> bool:
        """Whether it can change the value of report.json at this path."""
        return any(re.search(pattern, path) for pattern in self.values)


@cache
def method_changes() -> tuple[MethodChange, ...]:
    """All changes, the newest first."""
    entries = tomllib.loads(_FILE.read_text("utf-8"))["change"]
    return tuple(
        MethodChange(str(one["date"]), one["title"], one["page"], tuple(one["values"]))
        for one in entries
    )
