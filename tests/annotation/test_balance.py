"""Orders and sequences, as pure functions."""

import random
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from annotation.seats.side_order import Showing, choose_orders, spread_groups

showings = st.lists(
    st.builds(
        Showing,
        item_id=st.integers(),
        seats_left=st.integers(1, 3),
        r1_first=st.integers(0, 2),
        r2_first=st.integers(0, 2),
        truth=st.sampled_from(["r1", "r2", "tie", ""]),
        fixed=st.sampled_from(["", "", "", "r1", "r2"]),
    ),
    max_size=40,
    unique_by=lambda showing: showing.item_id,
)


@given(showings, st.integers(0, 1000))
def test_fixed_and_forced_orders_are_always_kept(items, seed):
    orders = choose_orders(items, random.Random(seed))

    assert orders.keys() == {item.item_id for item in items}
    for item in items:
        if item.fixed or item.forced:
            assert orders[item.item_id] == (item.fixed or item.forced)


@given(showings, st.integers(0, 1000))
def test_a_person_sees_each_order_equally_often_unless_last_seats_force_more(items, seed):
    orders = choose_orders(items, random.Random(seed))

    movable = [item for item in items if not item.fixed]
    forced = Counter(item.forced for item in movable if item.forced)
    shown = Counter(orders[item.item_id] for item in movable)
    for side in ("r1", "r2"):
        # One more than half, or what the last seats of items leave no choice about.
        assert shown[side] <= max((len(movable) + 1) // 2, forced[side])


def test_before_its_last_seat_an_item_may_repeat_an_order_for_the_persons_balance():
    items = [Showing(item_id=n, seats_left=2, r1_first=1, r2_first=0) for n in range(10)]

    orders = choose_orders(items, random.Random(0))

    assert Counter(orders.values()) == {"r1": 5, "r2": 5}


def test_items_without_a_preference_are_reversed_before_those_with_one():
    lacking = [Showing(item_id=n, seats_left=2, r1_first=1, r2_first=0) for n in range(5)]
    free = [Showing(item_id=n, seats_left=3, r1_first=0, r2_first=0) for n in range(5, 10)]

    for seed in range(20):
        orders = choose_orders([*lacking, *free], random.Random(seed))

        assert {orders[item.item_id] for item in lacking} == {"r2"}
        assert {orders[item.item_id] for item in free} == {"r1"}


def test_the_right_response_is_balanced_if_nothing_else_decides():
    items = [
        Showing(item_id=n, seats_left=3, r1_first=0, r2_first=0, truth=("r1", "r2")[n % 2])
        for n in range(40)
    ]

    orders = choose_orders(items, random.Random(3))

    assert sum(orders[item.item_id] == item.truth for item in items) == 20


@dataclass(frozen=True)
class Grouped:
    name: int
    group: str


@given(st.lists(st.sampled_from(["", "g1", "g2", "g3"]), max_size=20), st.integers(0, 1000))
def test_items_of_a_group_stay_apart_whenever_that_is_possible(groups, seed):
    items = [Grouped(n, group) for n, group in enumerate(groups)]

    ordered = spread_groups(items, random.Random(seed))

    assert sorted(item.name for item in ordered) == list(range(len(items)))
    largest = max(Counter(group for group in groups if group).values(), default=0)
    if largest <= (len(items) + 1) // 2:
        assert not any(one.group and one.group == two.group for one, two in pairwise(ordered))


def test_a_group_that_was_last_before_does_not_come_first():
    items = [Grouped(1, "g1"), Grouped(2, "")]

    ordered = spread_groups(items, random.Random(0), after="g1")

    assert [item.name for item in ordered] == [2, 1]
