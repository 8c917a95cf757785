"""What extras add to the lists of the core: importers, protocols, chapters of a report and so on.

For each kind the core has its own list, and an `Additions` that extras fill when Django starts. The
core does not know which extras exist.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from pkgutil import resolve_name
from typing import Generic, Protocol, TypeVar


class Named(Protocol):
    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=Named)


class Additions(Generic[Entry]):
    """Entries of one kind that extras add, each with a `name` that no other entry has.

    An entry is given as “package.module:NAME” and imported when the list is first read, so a
    process that does not use it pays nothing.
    """

    def __init__(self) -> None:
        self._given: list[tuple[str, str]] = []

    def add(self, *entries: str, after: str = "") -> None:
        """Add entries after the named entry of the core, or at the end."""
        self._given.extend((entry, after) for entry in entries)
        self.__dict__.pop("_read", None)

    @cached_property
    def _read(self) -> list[tuple[Entry, str]]:
        return [(resolve_name(entry), after) for entry, after in self._given]

    def __iter__(self) -> Iterator[Entry]:
        return (entry for entry, _ in self._read)

    def among(self, own: Iterable[Entry]) -> list[Entry]:
        """The entries of the core and of extras, in the order of pages and commands.

        An entry placed after one that the core lacks comes last; `without_place` names them.
        """
        found = list(own)
        names = {entry.name for entry in found}
        last = [entry for entry, after in self._read if after not in names]
        for entry, after in reversed(self._read):
            if after in names:
                place = next(n for n, each in enumerate(found) if each.name == after)
                found.insert(place + 1, entry)
        return [*found, *last]

    def without_place(self, own: Iterable[Entry]) -> list[str]:
        """Entries to be placed after an entry that the core does not have."""
        names = {"", *(entry.name for entry in own)}
        return [entry for entry, after in self._given if after not in names]
