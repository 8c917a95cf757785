"""How many people the open seats take, against every way of seating them."""

import itertools
import random
from collections import Counter

import pytest

from annotation.seats.capacity import SeatForecast, people_needed, seats_filled, widened, without


def most_filled(widths: list[int], each: int, people: int) -> int:
    """The most seats that so many people fill, by trying every choice of items of each."""
    best = 0
    choices = list(itertools.combinations(range(len(widths)), min(each, len(widths))))
    for chosen in itertools.combinations_with_replacement(choices, people):
        sitting = Counter(item for items in chosen for item in items)
        best = max(best, sum(min(n, widths[item]) for item, n in sitting.items()))
    return best


@pytest.mark.parametrize("seed", range(20))
def test_people_and_seats_agree_with_brute_force(seed):
    rng = random.Random(seed)
    widths = [rng.randint(0, 3) for _ in range(rng.randint(1, 4))]
    each = rng.randint(1, len(widths))
    seats = Counter(widths)

    filled = [most_filled(widths, each, people) for people in range(4)]

    assert [seats_filled(seats, each, people) for people in range(4)] == filled
    enough = [people for people in range(4) if filled[people] == sum(widths)]
    if enough:
        assert people_needed(seats, each) == enough[0]
    else:
        assert people_needed(seats, each) > 3


def test_taking_a_seat_leaves_one_less_at_its_item():
    assert without({3: 2, 1: 4}, {3: 1, 1: 2}) == Counter({3: 1, 2: 1, 1: 2, 0: 2})


def test_more_answers_an_item_open_seats_at_full_items_too():
    assert widened({1: 2}, by=1, items=5) == Counter({2: 2, 1: 3})


@pytest.mark.parametrize(
    ("coming", "missing", "unfilled"),
    [
        ({"room": 2, "places_left": 2}, 0, 0),
        ({"room": 1, "places_left": 2}, 1, 4),
        ({"room": 2, "places_left": 0}, 2, 8),
        ({"room": 0, "places_left": 2, "on_the_way": 1, "admitted": 1}, 1, 4),
        ({"room": 0, "on_the_way": 2, "admitted": 2, "places_left": 0}, 0, 0),
        ({}, 0, 0),
    ],
)
def test_missing_people_are_those_that_groups_and_platform_lack(coming, missing, unfilled):
    forecast = SeatForecast({1: 8}, 4, reward=450, currency="USD", **coming)

    assert (forecast.missing, forecast.unfilled, forecast.pay) == (
        missing,
        unfilled,
        450 * missing,
    )
    assert bool(forecast.warning) == bool(missing)


def test_the_warning_counts_and_prices_what_is_missing():
    forecast = SeatForecast({1: 5}, 4, room=1, places_left=0, reward=450, currency="USD")

    assert forecast.warning == (
        "5 seats stay open even if every remaining place is used. 2 more places are needed (1 in "
        "the groups, 2 on Prolific), which costs $9.00 in pay."
    )
