"""The order in which a judge sees the responses."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

from judging.models import JudgeRun
from studies.models import Side

_OTHER = {Side.R1: Side.R2, Side.R2: Side.R1}


class Orderable(Protocol):
    """The part of an item that decides its order."""

    @property
    def pk(self) -> int: ...
    @property
    def key(self) -> str: ...
    @property
    def first_person(self) -> str: ...
    @property
    def fixed_first(self) -> str: ...


def shown_first(
    items: Sequence[Orderable],
    *,
    orders: str,
    seed: int,
    drawn: Iterable[tuple[Orderable, str]] = (),
) -> dict[int, list[str]]:
    """Choose the side to show first for every item (by id).

    `random` draws by a hash of the seed and the item's key, balanced so that the right answer is
    side A in half of the items whose truth is known, and response 1 in half of the others. Orders
    that an earlier call drew are passed as `drawn` and count for the balance. Items with a fixed
    order keep it.
    """
    if orders != JudgeRun.Orders.RANDOM:
        every = {
            JudgeRun.Orders.BOTH: [Side.R1, Side.R2],
            JudgeRun.Orders.R1_FIRST: [Side.R1],
            JudgeRun.Orders.R2_FIRST: [Side.R2],
        }[JudgeRun.Orders(orders)]
        return {i.pk: [i.fixed_first] if i.fixed_first else [str(s) for s in every] for i in items}

    # The number of times, per stratum, that the reference side (truth or response 1) was first.
    balance = Counter[bool]()
    for item, first in drawn:
        if not item.fixed_first:
            balance[_has_truth(item)] += 1 if first == _reference(item) else -1
    chosen = {}
    for item in sorted(items, key=lambda item: _hash(seed, item.key)):
        if item.fixed_first:
            chosen[item.pk] = [str(item.fixed_first)]
            continue
        lead = balance[_has_truth(item)]
        # If level, the hash decides, and the next item of the stratum restores the balance.
        reference_first = lead < 0 or (lead == 0 and _hash(seed, item.key)[-1] % 2 == 0)
        balance[_has_truth(item)] += 1 if reference_first else -1
        side = _reference(item) if reference_first else _OTHER[_reference(item)]
        chosen[item.pk] = [str(side)]
    return chosen


def _has_truth(item: Orderable) -> bool:
    return item.first_person in _OTHER


def _reference(item: Orderable) -> Side:
    return Side(item.first_person) if _has_truth(item) else Side.R1


def _hash(seed: int, key: str) -> bytes:
    return hashlib.blake2b(key.encode(), key=str(seed).encode()).digest()
