"""The doctor: what must hold in the data and files of an installation, and repairs of counters.

A check yields a `Fault` for each thing that does not hold. It reads in portions, so its memory does
not grow with the installation. Checks of one subject are in one module; `examination.CHECKS` lists
them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Manager, Max, Min, Model

PORTION = 2_000


@dataclass(frozen=True)
class InvariantFault:
    """One thing that does not hold. `key` is what a repair needs to find it again."""

    sentence: str
    study: str = ""  # its short name, if it belongs to one
    key: Any = None
    unchecked: bool = False  # the check could not go on; nothing is known to be wrong


@dataclass(frozen=True)
class InvariantCheck:
    """Something that must hold. `repair` changes only what follows from other data.

    A repair returns what it did, or "" if it must not change this fault or it is gone.
    """

    name: str
    title: str
    find: Callable[[], Iterator[InvariantFault]]
    remedy: str
    repair: Callable[[InvariantFault], str] | None = None


def portions(rows: Manager[Any], model: type[Model]) -> Iterator[tuple[int, int]]:
    """Ranges of ids that together cover all rows, each of at most `PORTION` ids."""
    found = rows.aggregate(first=Min(model._meta.pk.name), last=Max(model._meta.pk.name))
    if found["first"] is None:
        return
    for low in range(found["first"], found["last"] + 1, PORTION):
        yield low, low + PORTION - 1
