"""The order in which a judge is shown the options of a set, and which items share a request.

The order is drawn by a hash of the run's seed and the set, so every position is equally likely for
every option. It depends on nothing else: all pairs of a set have the same prompt in the same order.
"""

import hashlib
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from django.db.models import QuerySet

from judging.models import JudgeRun
from studies.models import Item, Side
from studies.texts.normalisation import digest

_PORTION = 500
_OTHER = {Side.R1.value: Side.R2.value, Side.R2.value: Side.R1.value}


def drawn_order(item: Item, seed: int) -> tuple[int, ...]:
    """The numbers of the options in the drawn order."""
    key = item.option_set.get("id", item.key)
    numbers = range(1, len(item.options) + 1)
    return tuple(sorted(numbers, key=lambda number: _hash(seed, f"{key}|{number}")))


def drawn_first(item: Item, seed: int) -> str:
    """The response of the pair that comes first in the drawn order."""
    order, place = drawn_order(item, seed), _place(item)
    return min(Side.values, key=lambda side: order.index(place[side]))


def shown_order(item: Item, seed: int, shown_first: str) -> tuple[int, ...]:
    """The order with response `shown_first` before the other: the drawn one, or its reverse."""
    order = drawn_order(item, seed)
    return order if drawn_first(item, seed) == shown_first else order[::-1]


def shown_pair(item: Item, shown_first: str) -> tuple[int, int]:
    """The numbers of the two responses of an item, with that of `shown_first` first."""
    place = _place(item)
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return place[shown_first], place[second]


def fingerprints(items: Iterable[Item]) -> dict[int, str]:
    """By the id of each item a hash of what a prompt about its whole set shows of it."""
    return {
        item.pk: digest(
            [
                item.option_set["id"],
                item.persona_id,
                [item.task, item.question, item.context, item.context_title],
                [[each["text"], each.get("prompt")] for each in item.options],
            ]
        )
        for item in items
    }


def _place(item: Item) -> Mapping[str, int]:
    """The numbers of the two responses; an item without a set is shown as one of two."""
    place: Mapping[str, int] = item.option_set.get("place") or {"r1": 1, "r2": 2}
    return place


def _hash(seed: int, text: str) -> bytes:
    return hashlib.blake2b(text.encode(), key=str(seed).encode()).digest()


class _OptionPlace(NamedTuple):
    """The set of an item, as a hash of what is shown of it, and the response shown first."""

    fingerprint: str
    first: str


class OptionPlaces:
    """The places of items in their sets, for one run; an item without a set has none."""

    def __init__(self, run: JudgeRun, items: Iterable[int]) -> None:
        self._places: dict[int, _OptionPlace] = {}
        self._seed = run.seed
        self._is_both = run.orders == JudgeRun.Orders.BOTH
        ids = iter(items)
        while some := list(islice(ids, _PORTION)):
            self._read(Item.everything.filter(pk__in=some).exclude(option_set={}))

    def _read(self, items: QuerySet[Item]) -> None:
        found = list(items)
        prints = fingerprints(found)
        for item in found:
            self._places[item.pk] = _OptionPlace(prints[item.pk], drawn_first(item, self._seed))

    def sides(self, item: int) -> list[str]:
        """The response that is shown first in each order in which an item is asked."""
        if (place := self._places.get(item)) is None:
            return [Side.R1.value]  # it is skipped
        return [place.first, _OTHER[place.first]] if self._is_both else [place.first]

    def request(self, item: int, shown_first: str, sample: int) -> tuple[str, bool, int] | None:
        """What is equal for all judgments that one request answers; None without a set."""
        place = self._places.get(item)
        return None if place is None else (place.fingerprint, shown_first == place.first, sample)
