"""The doctor: checks of an installation's data and files, and repairs of counters.

A check yields an `InvariantFault` for each violation. It reads in portions, so its memory does not
grow with the installation. Checks of one subject share a module; `examination` lists them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Manager, Max, Min, Model

PORTION = 2_000


@dataclass(frozen=True)
class InvariantFault:
    """A violation; `key` lets a repair find it again."""

    sentence: str
    study: str = ""  # its short name, if it belongs to one
    key: Any = None
    unchecked: bool = False  # the check had to stop; nothing is known to be wrong


@dataclass(frozen=True)
class InvariantCheck:
    """An invariant. `repair` changes only what follows from other data.

    A repair returns what it did, or "" if it must not change the fault or the fault is gone.
    """

    name: str
    title: str
    find: Callable[[], Iterator[InvariantFault]]
    remedy: str
    repair: Callable[[InvariantFault], str] | None = None


def portions(rows: Manager[Any], model: type[Model]) -> Iterator[tuple[int, int]]:
    """Ranges of at most `PORTION` ids that together cover all rows."""
    keys = rows.aggregate(first=Min(model._meta.pk.name), last=Max(model._meta.pk.name))
    if keys["first"] is None:
        return
    for low in range(keys["first"], keys["last"] + 1, PORTION):
        yield low, low + PORTION - 1
