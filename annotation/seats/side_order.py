"""The response shown first and the order of the items: pure functions.

Among the seats of an item both orders occur; among the items of an annotator the two orders differ
in number by at most one; and, as far as these rules allow, the right response is on either side
equally often.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from studies.models import Side


class Grouped(Protocol):
    @property
    def group(self) -> str: ...


GroupedItem = TypeVar("GroupedItem", bound=Grouped)
Mixed = TypeVar("Mixed")


@dataclass(frozen=True)
class Showing:
    """What decides the order of an item: the orders shown so far, and the right response."""

    item_id: int
    seats_left: int
    r1_first: int
    r2_first: int
    truth: str = ""
    fixed: str = ""

    @property
    def forced(self) -> str:
        """The order that the last seat must take because it has not occurred."""
        if self.seats_left != 1 or bool(self.r1_first) == bool(self.r2_first):
            return ""
        return Side.R2 if self.r1_first else Side.R1

    @property
    def preferred(self) -> str:
        """The order that occurred less often."""
        if self.r1_first == self.r2_first:
            return ""
        return Side.R2 if self.r1_first > self.r2_first else Side.R1


def choose_orders(showings: Sequence[Showing], rng: random.Random) -> dict[int, str]:
    """Return item id → the response shown first ("r1" or "r2").

    Items with a fixed order are exempt. Others take the order that the item lacks; those without a
    preference alternate within each kind of truth. Then orders are reversed until the halves differ
    by at most one, starting with those that cost the least balance.
    """
    orders = {s.item_id: s.fixed for s in showings if s.fixed}
    movable = [s for s in showings if not s.fixed]
    turn = {truth: rng.random() < 0.5 for truth in ("r1", "r2", "tie", "")}
    for showing in movable:
        side = showing.forced or showing.preferred
        if not side:
            side = Side.R1 if turn[showing.truth] else Side.R2
            turn[showing.truth] = not turn[showing.truth]
        orders[showing.item_id] = side

    first = sum(orders[s.item_id] == Side.R1 for s in movable)
    half = len(movable) / 2
    surplus_side = Side.R1 if first > half else Side.R2
    excess = int(abs(first - half))
    # How much more often the right response is on side A than on side B.
    tilt = sum(_truth_side(s.truth, orders[s.item_id]) for s in movable)
    turnable = [s for s in movable if not s.forced and orders[s.item_id] == surplus_side]
    for _ in range(min(excess, len(turnable))):
        cheapest = min(
            turnable,
            key=lambda s: (
                bool(s.preferred),
                abs(tilt - 2 * _truth_side(s.truth, surplus_side)),
                rng.random(),
            ),
        )
        turnable.remove(cheapest)
        orders[cheapest.item_id] = _other(surplus_side)
        tilt -= 2 * _truth_side(cheapest.truth, surplus_side)
    return orders


def _other(side: str) -> str:
    return Side.R2 if side == Side.R1 else Side.R1


def _truth_side(truth: str, first: str) -> int:
    """1 if the right response is on side A, -1 if on side B, 0 if none is right."""
    if truth not in (Side.R1, Side.R2):
        return 0
    return 1 if truth == first else -1


def draw_option_order(
    place: Mapping[str, int], count: int, *, first: str, rng: random.Random
) -> list[int]:
    """A random order of the `count` responses of a set, by number.

    `place` has the numbers of the item's two responses; that of `first` comes before the other.
    Every such order is equally likely.
    """
    order = rng.sample(range(1, count + 1), count)
    if order.index(place[first]) > order.index(place[_other(first)]):
        order.reverse()
    return order


def spread_groups(
    items: Sequence[GroupedItem], rng: random.Random, *, after: str = ""
) -> list[GroupedItem]:
    """Shuffle the items, and keep items of a group apart where possible.

    `after` is the group of the preceding item.
    """
    pool = rng.sample(list(items), len(items))
    left: Counter[str] = Counter(item.group for item in pool if item.group)
    ordered: list[GroupedItem] = []
    last = after
    while pool:
        position = _next_position(pool, left, last)
        item = pool.pop(position)
        if item.group:
            left[item.group] -= 1
        last = item.group
        ordered.append(item)
    return ordered


def _next_position(pool: Sequence[Grouped], left: Mapping[str, int], last: str) -> int:
    # A group that fills more than half of the remaining positions must come now, or two of its
    # items become adjacent later.
    pressing = next((g for g, n in left.items() if 2 * n > len(pool) and g != last), None)
    for position, item in enumerate(pool):
        if pressing is not None and item.group != pressing:
            continue
        if not item.group or item.group != last:
            return position
    return 0


def mix_in(items: Sequence[Mixed], checks: Sequence[Mixed], rng: random.Random) -> list[Mixed]:
    """Mix the attention checks into the items, one in each of as many equal sections.

    Never first, while annotators get used to the task; `items` keep their order.
    """
    mixed = list(items)
    for number in reversed(range(len(checks))):
        start = number * len(items) // len(checks)
        stop = (number + 1) * len(items) // len(checks)
        mixed.insert(rng.randint(min(start + 1, stop), stop), checks[number])
    return mixed
