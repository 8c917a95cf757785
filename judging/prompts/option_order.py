"""The order in which a judge is shown the options of a set, and which items share a request.

The order is drawn by a hash of the run's seed and the set, so every position is equally likely for
every option. It depends on nothing else: all pairs of a set have the same prompt in the same order.
"""

import hashlib
from collections.abc import Iterable, Mapping

from studies.models import Item, Side
from studies.texts.normalisation import digest


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
