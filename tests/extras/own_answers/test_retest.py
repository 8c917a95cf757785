"""Retest agreement, its ceiling, and accuracy as a share of it, against planted slips."""

import doctest
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from analysis.stats import Sharing
from extras.own_answers import retest
from extras.own_answers.retest import retest_of, share_of_retest

PEOPLE, ITEMS = 40, 10


def sharing_of(person, question):
    return Sharing.of_items(person.size, {"persona": person, "question": question})


def planted(rng, *, slip, accuracy, spread=0.0):
    """Right predictions and repeated answers of people who slip twice, independently.

    `accuracy` is about what people mean; `spread` makes it differ among people.
    """
    own = np.clip(accuracy + spread * rng.standard_normal(PEOPLE), 0, 1)[:, None]
    knows = rng.random((PEOPLE, ITEMS)) < own
    first, again = rng.random((2, PEOPLE, ITEMS)) < slip
    return (knows ^ first).ravel(), (first == again).ravel()


PERSON = np.repeat(np.arange(PEOPLE), ITEMS)
ROWS = sharing_of(PERSON, np.tile(np.arange(ITEMS), PEOPLE))


def test_the_ceiling_is_the_transformed_agreement_and_so_is_its_interval():
    same = np.random.default_rng(1).permutation(400) < 320

    found = retest_of(same, ROWS)

    low, high = found.agreement.interval.low, found.agreement.interval.high
    assert found.agreement.value == 0.8
    assert found.ceiling.value == pytest.approx((1 + 0.6**0.5) / 2)
    assert found.ceiling.interval.low == pytest.approx((1 + (2 * low - 1) ** 0.5) / 2)
    assert found.ceiling.interval.high == pytest.approx((1 + (2 * high - 1) ** 0.5) / 2)


def test_an_interval_that_reaches_chance_ends_there():
    found = retest_of(np.arange(400) % 50 < 26, ROWS)

    assert found.agreement.interval.low < 0.5
    assert found.ceiling.interval.low == 0.5


@pytest.mark.parametrize("repeated", [0.0, 0.3, 0.5])
def test_who_repeats_half_or_fewer_sets_no_ceiling(repeated):
    same = np.arange(400) < 400 * repeated
    right = np.ones(400, dtype=bool)

    assert retest_of(same, ROWS).ceiling.value is None
    assert retest_of(same, ROWS).ceiling.reason == "at_chance"
    share = share_of_retest(right, PERSON, ROWS, same, PERSON, ROWS)
    assert (share.value, share.reason) == (None, "at_chance")


def test_without_rows_there_is_nothing():
    none = np.array([], dtype=int)
    rows = sharing_of(none, none)

    assert retest_of([], rows).ceiling.reason == "empty_group"
    assert share_of_retest([], none, rows, [], none, rows).reason == "empty_group"


def test_few_people_have_a_share_but_no_interval():
    person = np.repeat(np.arange(7), 20)
    rows = sharing_of(person, np.tile(np.arange(20), 7))
    same = np.arange(140) % 10 < 9

    found = share_of_retest(same, person, rows, same, person, rows)

    assert found.value == pytest.approx((2 * 0.9 - 1) / (2 * 0.9 - 1) ** 0.5)
    assert found.interval is None
    assert found.interval_reason


def test_the_variance_is_that_of_a_bootstrap_over_people():
    rng = np.random.default_rng(3)
    right, same = planted(rng, slip=0.15, accuracy=0.75, spread=0.15)
    rows = Sharing.of_items(400, {"persona": PERSON})
    half = stats.t.ppf(0.975, PEOPLE - 1)

    found = share_of_retest(right, PERSON, rows, same, PERSON, rows)

    by_person = right.reshape(PEOPLE, ITEMS), same.reshape(PEOPLE, ITEMS)
    draws = []
    for _ in range(4000):
        drawn = rng.integers(0, PEOPLE, PEOPLE)
        accuracy, r = (part[drawn].mean() for part in by_person)
        draws.append((2 * accuracy - 1) / (2 * r - 1) ** 0.5)
    assert (found.interval.high - found.value) / half == pytest.approx(np.std(draws), rel=0.1)


def test_people_who_slip_often_lower_both_and_the_interval_knows_it():
    """With the same rows for both, errors of A and r cancel in part: the interval is narrower."""
    rng = np.random.default_rng(5)
    slips = np.repeat(rng.choice([0.0, 0.4], PEOPLE), ITEMS)
    first, again = rng.random((2, 400)) < slips
    right, same = ~first, first == again
    rows = Sharing.of_items(400, {"persona": PERSON})
    apart = np.repeat(np.arange(PEOPLE, 2 * PEOPLE), ITEMS)

    together = share_of_retest(right, PERSON, rows, same, PERSON, rows).interval
    unrelated = share_of_retest(right, PERSON, rows, same, apart, rows).interval

    assert together.high - together.low < 0.8 * (unrelated.high - unrelated.low)


@pytest.mark.nightly
@pytest.mark.parametrize(("slip", "accuracy"), [(0.1, 0.7), (0.15, 0.9), (0.05, 0.55)])
def test_intervals_cover_what_was_planted(slip, accuracy):
    rng = np.random.default_rng(11)
    ceilings = shares = 0
    studies = 300
    for _ in range(studies):
        right, same = planted(rng, slip=slip, accuracy=accuracy)
        ceiling = retest_of(same, ROWS).ceiling.interval
        ceilings += ceiling.low <= 1 - slip <= ceiling.high
        share = share_of_retest(right, PERSON, ROWS, same, PERSON, ROWS).interval
        shares += share.low <= 2 * accuracy - 1 <= share.high

    # 95 % of 300 is 285; fewer than 275 have the probability 0.005.
    assert ceilings >= 275
    assert shares >= 275


def test_the_examples_give_what_they_show():
    page = Path(retest.__file__).parent / "docs/first-person.md"
    found = doctest.testmod(retest), doctest.testfile(str(page), module_relative=False)

    assert all(each.attempted > 1 and not each.failed for each in found)
