"""Which items people get."""

from collections import Counter

import pytest

from studies.models import Item
from studies.services.items import sample_by_topic, seat_items
from studies.services.studies import freeze
from tests.factories import make_item, make_study

ITEMS = [
    (f"{topic}{n}", topic) for topic, size in (("a", 60), ("b", 30), ("c", 10)) for n in range(size)
]


def test_each_topic_gets_its_share():
    chosen = sample_by_topic(ITEMS, size=20, seed=1)

    assert Counter(key[0] for key in chosen) == {"a": 12, "b": 6, "c": 2}


def test_shares_that_do_not_divide_are_rounded_and_add_up():
    chosen = sample_by_topic(ITEMS, size=7, seed=1)

    assert len(chosen) == 7
    assert Counter(key[0] for key in chosen) == {"a": 4, "b": 2, "c": 1}


def test_the_seed_decides_and_the_order_of_the_items_does_not():
    chosen = sample_by_topic(ITEMS, size=20, seed=1)

    assert sample_by_topic(reversed(ITEMS), size=20, seed=1) == chosen
    assert sample_by_topic(ITEMS, size=20, seed=2) != chosen


def test_kept_items_stay_even_beyond_the_share_of_their_topic():
    kept = {f"c{n}" for n in range(5)}

    chosen = sample_by_topic(ITEMS, size=10, seed=1, keep=kept)

    assert kept <= chosen
    assert len(chosen) >= 10


def test_a_sample_larger_than_the_study_is_everything():
    assert sample_by_topic(ITEMS, size=1_000, seed=1) == {key for key, _ in ITEMS}


@pytest.mark.django_db
def test_the_sample_of_a_frozen_study_only_grows():
    study = make_study(human_sample=4)
    for n in range(20):
        make_item(study=study, key=f"i{n:02}", seats_needed=0)
    seat_items(study)
    before = set(Item.objects.filter(seats_needed__gt=0).values_list("key", flat=True))
    freeze(study.pk)
    study.refresh_from_db()
    study.human_sample = 6

    for n in range(20, 40):
        make_item(study=study, key=f"i{n:02}", seats_needed=0)
    assert seat_items(study) == 6

    after = set(Item.objects.filter(seats_needed__gt=0).values_list("key", flat=True))
    assert before < after
    assert len(after) == 6


@pytest.mark.django_db
def test_an_item_keeps_the_seats_that_are_taken():
    study = make_study(human_sample=1, annotations_per_item=2)
    for n in range(4):
        make_item(study=study, key=f"i{n}", seats_needed=3, seats_taken=3)

    seat_items(study)

    assert set(Item.objects.values_list("seats_needed", flat=True)) == {3}
