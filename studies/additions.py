"""What extras add to the lists of the core: importers, protocols, chapters of a report and so on.

The core has a list of its own for each kind, and beside it an `Additions` that extras fill when
Django starts. The core knows neither the names of extras nor how many there are.
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

    An entry is given as “package.module:NAME” and imported when the list is first read, so it costs
    no process anything that does not use it.
    """

    def __init__(self) -> None:
        self._given: list[tuple[str, str]] = []

    def add(self, *entries: str, after: str = "") -> None:
        """Add entries behind the entry of the core that is named, or at the end."""
        self._given.extend((entry, after) for entry in entries)
        self.__dict__.pop("_read", None)

    @cached_property
    def _read(self) -> list[tuple[Entry, str]]:
        return [(resolve_name(entry), after) for entry, after in self._given]

    def __iter__(self) -> Iterator[Entry]:
        return (entry for entry, _ in self._read)

    def among(self, own: Iterable[Entry]) -> list[Entry]:
        """The entries of the core and of extras, in the order of pages and commands.

        An entry behind one that the core does not have comes last; `without_place` names them.
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
        """Entries that are to stand behind something that is not in the core."""
        names = {"", *(entry.name for entry in own)}
        return [entry for entry, after in self._given if after not in names]
