"""What each key of report.json means: the reference page and a test of every section read it.

`keys.txt` has one line for each key: its name, the type of its values, and a sentence. A name can
begin with the keys above it, where the same name means something else elsewhere, and `*` is a
name that depends on the study. A section that is not part of the product declares its own lines
in `keys`. Keys that end in `_reason`, `_ci` or `_made` need no line.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("keys.txt")
# An interval's account of itself is written by one function, so it is described once.
_MADE = "_made"


@dataclass(frozen=True)
class Described:
    """A key with the type of its values and its meaning; `chapter` is the heading it is below."""

    name: str
    kind: str
    meaning: str
    chapter: str

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))


def parse(text: str, chapter: str = "") -> Iterator[Described]:
    """The keys that lines describe; a line that begins with # is the heading of a chapter."""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("#"):
            chapter = line.lstrip("# ")
        else:
            name, kind, meaning = (part.strip() for part in line.split("|"))
            yield Described(name, kind, meaning, chapter)


@cache
def described() -> tuple[Described, ...]:
    """Every key of the product's own sections, in the order of the file."""
    return tuple(parse(FILE.read_text("utf-8")))


class Keys:
    """Finds the description of a place in report.json."""

    def __init__(self, known: Iterable[Described]) -> None:
        self._by_last: dict[str, list[Described]] = {}
        for entry in sorted(known, key=lambda entry: -len(entry.parts)):
            self._by_last.setdefault(entry.parts[-1], []).append(entry)

    def find(self, path: tuple[str, ...]) -> Described | None:
        """The line with the most keys in common with the end of the path; None if there is none."""
        last = path[-1]
        if any(part.endswith(_MADE) for part in path[:-1]):
            return self._best(path) or _ABOUT_INTERVALS
        if found := self._best(path):
            return found
        for ending, entry in _ENDINGS.items():
            if last.endswith(ending) or last == ending[1:]:
                return entry
        return None

    def _best(self, path: tuple[str, ...]) -> Described | None:
        named = self._by_last.get(path[-1], [])
        wild = self._by_last.get("*", [])
        fits = (entry for entry in (*named, *wild) if _fits(entry.parts, path))
        return max(fits, key=_how_exact, default=None)


def _how_exact(entry: Described) -> tuple[bool, int]:
    """A name of its own comes before a star, and a longer name before a shorter one."""
    return "*" != entry.parts[-1], len(entry.parts)


def _fits(parts: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether the path has these keys in this order, with the last at its end.

    Keys between them are skipped: `human.coverage` is also any coverage inside `human`.
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


_ENDINGS: Mapping[str, Described] = {
    "_reason": Described("…_reason", "text", "Why the value of that name is null.", ""),
    "_made": Described("…_made", "object", "How the interval of that name was made.", ""),
    "_ci": Described("…_ci", "interval", "The 95 % interval: lower and upper end.", ""),
}
ENDINGS = tuple(_ENDINGS.values())
_ABOUT_INTERVALS = _ENDINGS["_made"]


def paths(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every place in a report, without the numbers of list entries."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            place = (*above, str(key))
            yield place
            yield from paths(inner, place)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from paths(inner, above)
