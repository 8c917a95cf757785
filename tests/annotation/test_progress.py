"""What a person is told of their way: how much is done, and how long the rest takes."""

import random

import pytest

from annotation.participants.item_context import ItemProgress, ProgressOnItems


def at(done: int, total: int, seconds: list[float]) -> ProgressOnItems:
    """`done` of `total` items answered, each in its time."""
    return ProgressOnItems(
        [
            ItemProgress(n + 1, n < done, round(seconds[n] * 1000) if n < done else None, n < done)
            for n in range(total)
        ]
    )


@pytest.mark.parametrize("seed", range(8))
def test_half_way_the_time_left_is_right_within_a_quarter(seed):
    """People of different pace, whose time from item to item varies by a factor of two or so."""
    rng = random.Random(seed)
    pace = rng.uniform(12, 60)
    seconds = [pace * rng.uniform(0.7, 1.4) for _ in range(30)]

    told = at(15, 30, seconds).minutes_left

    takes = sum(seconds[15:]) / 60
    assert told is not None
    assert abs(told - takes) <= max(0.25 * takes, 0.5)


def test_no_time_is_shown_before_the_pace_is_known_or_at_the_end():
    seconds = [20.0] * 30

    assert at(4, 30, seconds).minutes_left is None
    assert at(5, 30, seconds).minutes_left == 8
    assert at(30, 30, seconds).minutes_left is None


def test_one_long_pause_does_not_change_the_shown_time():
    steady = at(15, 30, [20.0] * 30).minutes_left

    assert at(15, 30, [20.0] * 14 + [3600.0] + [20.0] * 15).minutes_left == steady == 5


def test_less_than_a_minute_is_shown_as_one():
    assert at(29, 30, [5.0] * 30).minutes_left == 1


@pytest.mark.parametrize(
    ("done", "total", "offered"), [(0, 30, False), (15, 30, True), (30, 30, False), (15, 19, False)]
)
def test_a_break_is_offered_between_two_stretches(done, total, offered):
    assert at(done, total, [20.0] * 30).offers_break(done + 1) is offered


def test_going_back_offers_no_break():
    assert not at(15, 30, [20.0] * 30).offers_break(3)
