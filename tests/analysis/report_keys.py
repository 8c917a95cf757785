"""Finds the description of each key of report.json, for the tests."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from config.documentation.reference import ENDINGS, Described, described, parse


class Keys:
    """Finds the description of a path in report.json."""

    def __init__(self, known: Iterable[Described]) -> None:
        self._by_last: dict[str, list[Described]] = {}
        for entry in sorted(known, key=lambda entry: -len(entry.parts)):
            self._by_last.setdefault(entry.parts[-1], []).append(entry)

    def find(self, path: tuple[str, ...]) -> Described | None:
        """The line that shares the most keys with the end of the path; None if none does."""
        last = path[-1]
        if any(part.endswith("_made") for part in path[:-1]):
            return self._best(path) or ENDINGS["_made"]
        if found := self._best(path):
            return found
        for ending, entry in ENDINGS.items():
            if last.endswith(ending) or last == ending[1:]:
                return entry
        return None

    def _best(self, path: tuple[str, ...]) -> Described | None:
        named = self._by_last.get(path[-1], [])
        wild = self._by_last.get("*", [])
        fits = (entry for entry in (*named, *wild) if _fits(entry.parts, path))
        return max(fits, key=_how_exact, default=None)


@cache
def keys_with(declared: tuple[str, ...]) -> Keys:
    """The core's keys and those that sections declare, read once for the same sections."""
    return Keys([*described(), *(entry for text in declared for entry in parse(text))])


def _how_exact(entry: Described) -> tuple[bool, int]:
    """A full name comes before a star, and a longer name before a shorter one."""
    return "*" != entry.parts[-1], len(entry.parts)


def _fits(parts: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether the path has these keys in this order and ends with the last.

    Other keys may come between: `human.coverage` is also any coverage inside `human`.
    """
    if parts[-1] not in ("*", path[-1]):
        return False
    above = iter(path[:-1])
    if parts[-1] == "*":
        return len(path) > 1 and parts[-2] == path[-2] and _in_order(parts[:-2], path[:-2])
    return all(part in ("*",) or part in above for part in parts[:-1])


def _in_order(parts: tuple[str, ...], path: tuple[str, ...]) -> bool:
    above = iter(path)
    return all(part in above for part in parts)


def paths(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path in a report, without list positions."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            place = (*above, str(key))
            yield place
            yield from paths(inner, place)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from paths(inner, above)
