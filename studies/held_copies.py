"""What holds a person's data besides the rows that refer to them: files, links, rows by name.

Extras add their part to `MORE`. A request of a person lists all of it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from studies.extra import Kind
from studies.models import Study


@dataclass(frozen=True)
class PersonIn:
    """Somebody in one study, by the name inside, and when copies could contain their answers."""

    study: Study
    name: str
    since: datetime
    until: datetime | None

    def may_be_in(self, moment: datetime) -> bool:
        """Whether a copy made then could contain their answers."""
        return self.since <= moment and (self.until is None or moment <= self.until)


@dataclass(frozen=True)
class HeldCopy:
    """A copy that may contain somebody's data.

    `remove` deletes it for a `user`, under the label `button`. Without it, `sentence` says what to
    do.
    """

    key: str
    label: str
    when: datetime
    sentence: str
    button: str = ""
    remove: Callable[..., object] | None = None


# The title of a table, and its rows by column.
PersonalRows = tuple[str, list[Mapping[str, Any]]]


@dataclass(frozen=True)
class HeldBy:
    """A part of the program that holds data of people in ways that no foreign key shows.

    `find` returns the names of the annotators whom a text identifies; `forget` deletes rows, in the
    transaction that deletes the person.
    """

    name: str
    copies: Callable[[PersonIn], Iterable[HeldCopy]] = lambda _person: ()
    rows: Callable[[PersonIn], Iterable[PersonalRows]] = lambda _person: ()
    forget: Callable[[PersonIn], object] = lambda _person: None
    find: Callable[[Study, str], Collection[str]] = lambda _study, _text: ()


MORE: Kind[HeldBy] = Kind("holdings", "person")
