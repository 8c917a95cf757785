"""Differences between two reports, value by value."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The first of these keys that exists identifies a list entry. By position, a removed entry would
# shift all later ones.
NAMES = ("item", "rater", "run", "analysis", "limit", "value")
ABSENT = "–"


@dataclass(frozen=True)
class ReportDifference:
    """A changed value; “–” if missing on one side."""

    path: str
    then: Any
    now: Any


def differences(then: Any, now: Any, path: str = "") -> Iterator[ReportDifference]:
    """All values that differ between two reports, in the order of the first."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in [*then, *(key for key in now if key not in then)]:
            below = f"{path}.{key}" if path else str(key)
            yield from differences(then.get(key, ABSENT), now.get(key, ABSENT), below)
    elif isinstance(then, list) and isinstance(now, list):
        ours, theirs = _named(then), _named(now)
        for name in [*ours, *(name for name in theirs if name not in ours)]:
            below = f"{path}[{name}]"
            yield from differences(ours.get(name, ABSENT), theirs.get(name, ABSENT), below)
    elif then != now:
        yield ReportDifference(path, _brief(then), _brief(now))


def _named(entries: Sequence[Any]) -> dict[str, Any]:
    """The entries of a list by name, or by position without one."""
    for key in NAMES:
        if entries and all(isinstance(entry, Mapping) and key in entry for entry in entries):
            names = [str(entry[key]) for entry in entries]
            if len(set(names)) == len(names):
                return dict(zip(names, entries, strict=True))
    return {str(number): entry for number, entry in enumerate(entries)}


def _brief(value: Any) -> Any:
    """A value in one line."""
    if isinstance(value, Mapping | list):
        return f"({len(value)} values)"
    return value
