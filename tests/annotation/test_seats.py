"""Seats: exactly n answers an item, the same seats on every visit, balanced orders."""

from collections import Counter
from itertools import pairwise

import pytest
from django.db import transaction
from django.db.models import F

from annotation import services
from annotation.models import Annotation, Annotator, Assignment
from annotation.seats import assignment as seats
from annotation.seats import flow
from studies.models import Item, Study
from tests.factories import (
    answer_all,
    answer_item,
    make_annotator,
    make_item,
    make_items,
    make_study,
    walk_in,
)
from tests.together import run_together

pytestmark = pytest.mark.django_db


def assign(annotator_id: int) -> list[Assignment]:
    with transaction.atomic():
        seats.assign(flow.lock(annotator_id))
    return list(Assignment.objects.filter(annotator=annotator_id).order_by("position"))


def coverage(study: Study) -> Counter[int]:
    return Counter(study.all_items.values_list("seats_taken", flat=True))


def test_a_second_visit_gets_the_same_seats():
    study = make_study(items_per_annotator=5)
    make_items(study, 20)
    annotator = make_annotator(study=study)

    first = assign(annotator.pk)
    second = assign(annotator.pk)

    assert [a.pk for a in first] == [a.pk for a in second]
    assert coverage(study) == {0: 15, 1: 5}


def test_people_who_come_one_after_another_fill_every_seat_exactly():
    """The least covered items come first."""
    study = make_study(items_per_annotator=10, annotations_per_item=3)
    make_items(study, 30)
    given, covered = [], []

    for _ in range(9):
        given.append(assign(make_annotator(study=study).pk))
        covered.append(coverage(study))

    assert all(len(seats) == 10 and not any(a.is_surplus for a in seats) for seats in given)
    assert covered[2:4] == [{1: 30}, {1: 20, 2: 10}]
    assert covered[-1] == {3: 30}


def test_when_few_seats_are_open_the_rest_is_surplus_on_other_items():
    study = make_study(items_per_annotator=8, annotations_per_item=1)
    make_items(study, 10)
    assign(make_annotator(study=study).pk)

    late = assign(make_annotator(study=study).pk)

    assert Counter(a.is_surplus for a in late) == {False: 2, True: 6}
    assert len({a.item_id for a in late}) == 8
    assert coverage(study) == {1: 10}


def test_checks_practice_and_items_outside_the_human_sample_are_never_seats():
    study = make_study(items_per_annotator=10, annotations_per_item=1)
    wanted = make_item(study=study)
    make_item(study=study, split=Item.Split.PRACTICE)
    check = make_item(study=study, split=Item.Split.ATTENTION_CHECK, check_answer="r1")
    make_item(study=study, seats_needed=0)

    first = assign(make_annotator(study=study).pk)
    second = assign(make_annotator(study=study).pk)

    assert [(a.item_id, a.is_surplus) for a in first] == [(wanted.pk, False), (check.pk, True)]
    assert [(a.item_id, a.is_surplus) for a in second] == [(wanted.pk, True), (check.pk, True)]
    check.refresh_from_db()
    assert (check.seats_taken, check.answered) == (0, 0)


def test_both_orders_occur_in_every_item_and_half_and_half_in_every_person():
    study = make_study(items_per_annotator=30, annotations_per_item=3)
    make_items(study, 100)

    for _ in range(10):
        assign(make_annotator(study=study).pk)

    for annotator in study.annotators.all():
        first = annotator.assignments.filter(shown_first="r1").count()
        assert abs(first - 15) <= 1
    for item in study.all_items.all():
        orders = set(item.assignments.values_list("shown_first", flat=True))
        assert orders == {"r1", "r2"}
    right_is_a = Assignment.objects.filter(shown_first=F("item__first_person")).count()
    assert right_is_a == pytest.approx(150, abs=25)


def test_orders_of_people_who_left_do_not_count():
    study = make_study(items_per_annotator=20, annotations_per_item=2)
    make_items(study, 20)
    services.withdraw(annotator_id=walk_in(study).pk)

    for _ in range(2):
        walk_in(study)

    for item in study.all_items.all():
        active = item.assignments.exclude(state=Assignment.State.RELEASED)
        assert set(active.values_list("shown_first", flat=True)) == {"r1", "r2"}


def test_arriving_costs_the_same_queries_in_a_large_study(django_assert_max_num_queries):
    study = make_study(items_per_annotator=30)
    make_items(study, 1000)
    annotator = make_annotator(study=study)

    with django_assert_max_num_queries(13):
        assign(annotator.pk)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_simultaneous_arrivals_fill_every_seat_exactly_once():
    study = make_study(items_per_annotator=30, annotations_per_item=3)
    make_items(study, 300)
    # Second tabs: everybody arrives twice.
    arrivals = [*range(30), *range(30)]

    errors = run_together(lambda n: walk_in(study, f"person{n}"), arrivals)

    assert errors == []
    assert study.annotators.count() == 30
    held = Counter(Assignment.objects.filter(is_surplus=False).values_list("annotator", flat=True))
    assert set(held.values()) == {30}
    assert Assignment.objects.count() == 900
    assert coverage(study) == {3: 300}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_simultaneous_answers_and_completions_count_exactly():
    study = make_study(items_per_annotator=10, annotations_per_item=3)
    make_items(study, 30)

    def take_part(n: int) -> None:
        annotator = walk_in(study, f"person{n % 9}")
        for assignment in annotator.assignments.order_by("position"):
            answer_item(assignment, certainty=50)

    # Everybody answers everything in two tabs at once.
    errors = run_together(take_part, list(range(18)))

    assert errors == []
    assert Annotation.objects.count() == 90
    assert set(study.all_items.values_list("seats_taken", "answered")) == {(3, 3)}


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_people_who_leave_while_others_arrive_lose_no_seat():
    study = make_study(items_per_annotator=10, annotations_per_item=3)
    make_items(study, 30)
    leaving = [walk_in(study, f"leaving{n}").pk for n in range(9)]
    for pk in leaving[:3]:
        answer_all(Annotator.objects.get(pk=pk))

    def work(n: int) -> None:
        if n < 9:
            services.withdraw(annotator_id=leaving[n])
        else:
            walk_in(study, f"arriving{n}")

    errors = run_together(work, list(range(18)))

    assert errors == []
    for item in study.all_items.all():
        active = item.assignments.filter(is_surplus=False).exclude(state="released")
        assert item.seats_taken == active.count() <= 3
        assert item.answered == 0


def test_items_of_one_group_do_not_follow_each_other():
    study = make_study(items_per_annotator=12, annotations_per_item=5)
    for name in ("g1", "g2", "g3"):
        make_items(study, 4, group=name)

    for _ in range(5):
        groups = [a.item.group for a in assign(make_annotator(study=study).pk)]
        assert all(one != following for one, following in pairwise(groups))
