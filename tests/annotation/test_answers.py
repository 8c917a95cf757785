"""Storing answers: once, revised, late, or refused with nothing stored."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation import services
from annotation.models import Annotation, AnnotationRevision, Annotator, Assignment
from studies.models import Study
from tests.factories import answer_all, answer_item, make_items, make_study, take_part, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=2, annotations_per_item=2)
    make_items(study, 4)
    return study


def answer(assignment: Assignment, **overrides: object) -> Annotation:
    fields = {"choice": "r1", "certainty": 70}
    return answer_item(assignment, **fields | overrides)


def test_an_answer_is_stored_counted_and_freezes_the_study(study, assignment):
    shown_at = timezone.now() - timedelta(seconds=20)

    annotation = answer(assignment, choice="r2", certainty=81, shown_at=shown_at, active_ms=9000)

    assert (annotation.choice, annotation.certainty) == ("r2", 81)
    assert annotation.standing == Annotation.Standing.COUNTED
    assert annotation.active_ms == 9000
    assert 20_000 <= annotation.elapsed_ms < 60_000
    assert len(annotation.wording_sha256) == 64
    study.refresh_from_db()
    assert study.frozen_at is not None
    assignment.refresh_from_db()
    assert assignment.state == Assignment.State.ANSWERED
    assert (assignment.item.seats_taken, assignment.item.answered) == (1, 1)


def test_the_same_answer_again_changes_nothing(assignment, django_assert_num_queries):
    first = answer(assignment)
    annotator = Annotator.objects.select_related("study").get()
    entered = services.EnteredAnswer(assignment.as_displayed("r1"), 70)

    with django_assert_num_queries(5):
        second = services.record_answer(
            annotator=annotator, assignment_id=assignment.pk, entered=entered
        )

    assert second.pk == first.pk
    assert second.answered_at == first.answered_at
    assert AnnotationRevision.objects.count() == 1
    assignment.item.refresh_from_db()
    assert assignment.item.answered == 1


def test_a_first_answer_needs_few_queries(assignment, annotator, django_assert_max_num_queries):
    answer(assignment)
    other = annotator.assignments.get(position=2)
    annotator = Annotator.objects.select_related("study").get()
    entered = services.EnteredAnswer("a", 70)

    with django_assert_max_num_queries(8):
        services.record_answer(annotator=annotator, assignment_id=other.pk, entered=entered)


def test_late_work_is_kept_as_released_and_counts_when_the_person_completes(annotator, assignment):
    answer(assignment)
    services.time_out(annotator_id=annotator.pk)

    late = answer(annotator.assignments.get(position=2))
    standings = set(Annotation.objects.values_list("standing", flat=True))
    services.complete(annotator_id=annotator.pk)

    assert late.standing == Annotation.Standing.RELEASED
    assert standings == {Annotation.Standing.RELEASED}
    assert set(Annotation.objects.values_list("standing", flat=True)) == {"counted"}
    for item in annotator.study.all_items.filter(assignments__annotator=annotator):
        assert (item.seats_taken, item.answered) == (1, 1)


def test_late_work_is_surplus_if_the_seat_was_taken():
    study = make_study(items_per_annotator=1, annotations_per_item=1)
    make_items(study, 1)
    late, other = walk_in(study), None
    answer_all(late)
    services.time_out(annotator_id=late.pk)
    other = take_part(study)

    services.complete(annotator_id=late.pk)

    assert late.assignments.get().annotation.standing == "surplus"
    assert other.assignments.get().annotation.standing == "counted"
    assert (study.all_items.get().seats_taken, study.all_items.get().answered) == (1, 1)


@pytest.mark.parametrize(
    ("fields", "constraint"),
    [
        ({"choice": "x"}, "annotation_choice"),
        ({"certainty": 101}, "annotation_certainty_range"),
        ({"choice": "tie", "certainty": 50}, "annotation_certainty_range"),
        ({"certainty": None}, "annotation_certainty_where_asked"),
        ({"standing": "lost"}, "annotation_standing"),
    ],
)
def test_the_table_itself_refuses_half_an_answer(assignment, fields, constraint):
    answer(assignment)

    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Annotation.objects.update(**fields)
