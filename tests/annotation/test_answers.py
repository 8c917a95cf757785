"""Storing answers: once, revised, late, or refused with nothing stored."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation import services
from annotation.errors import AlreadyEnded, InvalidAnswer, StudyNotOpen
from annotation.models import Annotation, AnnotationRevision, Annotator, Assignment
from studies.models import Study
from tests.factories import answer_all, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items_per_annotator=2, annotations_per_item=2)
    make_items(study, 4)
    return study


def answer(assignment: Assignment, **overrides: object) -> Annotation:
    fields = {"choice": "r1", "certainty": 70}
    return services.record_answer(
        annotator_id=assignment.annotator_id, assignment_id=assignment.pk, **fields | overrides
    )


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

    with django_assert_num_queries(6):
        second = answer(assignment)

    assert second.pk == first.pk
    assert second.answered_at == first.answered_at
    assert AnnotationRevision.objects.count() == 1
    assignment.item.refresh_from_db()
    assert assignment.item.answered == 1


def test_another_answer_is_a_revision_and_every_revision_is_kept(assignment):
    answer(assignment, choice="r1", certainty=70)
    answer(assignment, choice="r2", certainty=30)

    last = answer(assignment, choice="r1", certainty=70)

    assert (last.choice, last.certainty, last.revision) == ("r1", 70, 3)
    assert list(last.revisions.values_list("number", "choice", "certainty")) == [
        (1, "r1", 70),
        (2, "r2", 30),
        (3, "r1", 70),
    ]
    assignment.item.refresh_from_db()
    assert assignment.item.answered == 1


def test_a_first_answer_costs_a_fixed_number_of_queries(
    assignment, annotator, django_assert_num_queries
):
    answer(assignment)
    other = annotator.assignments.get(position=2)

    with django_assert_num_queries(9):
        answer(other)


@pytest.mark.parametrize("certainty", [None, 0, 101, -5])
def test_a_certainty_out_of_range_is_refused_and_nothing_is_stored(assignment, certainty):
    with pytest.raises(InvalidAnswer, match="certainty must be from 1 to 100"):
        answer(assignment, certainty=certainty)

    assert Annotation.objects.count() == 0
    assert Study.objects.get().frozen_at is None


@pytest.mark.parametrize("choice", ["", "a", "ZZZ", "tie"])
def test_a_choice_that_is_not_offered_is_refused(assignment, choice):
    with pytest.raises(InvalidAnswer, match="is not offered"):
        answer(assignment, choice=choice)

    assert Annotation.objects.count() == 0


def test_a_tie_has_no_certainty():
    study = make_study(items_per_annotator=1, allow_tie=True)
    make_items(study, 1)
    assignment = walk_in(study).assignments.get()

    annotation = answer(assignment, choice="tie", certainty=50)

    assert (annotation.choice, annotation.certainty) == ("tie", None)


def test_a_study_that_asks_no_certainty_stores_none():
    study = make_study(items_per_annotator=1, ask_certainty=False)
    make_items(study, 1)
    assignment = walk_in(study).assignments.get()

    assert answer(assignment, certainty=50).certainty is None


def test_nobody_answers_for_somebody_else(study, assignment):
    other = walk_in(study)

    with pytest.raises(Assignment.DoesNotExist):
        services.record_answer(
            annotator_id=other.pk, assignment_id=assignment.pk, choice="r1", certainty=50
        )

    assert Annotation.objects.count() == 0


def test_a_closed_study_takes_no_answer(study, assignment):
    Study.objects.update(state="closed")

    with pytest.raises(StudyNotOpen, match="closed"):
        answer(assignment)

    assert Annotation.objects.count() == 0


def test_people_under_way_may_finish_a_paused_study(study, annotator):
    Study.objects.update(state="paused")

    answer_all(annotator)
    ended = services.complete(annotator_id=annotator.pk)

    assert ended.state == Annotator.State.COMPLETED


def test_after_completion_an_answer_is_refused(annotator, assignment):
    answer_all(annotator)
    services.complete(annotator_id=annotator.pk)

    with pytest.raises(AlreadyEnded):
        answer(assignment, choice="r2")

    assert assignment.annotation.choice == "r1"


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


def test_late_work_is_surplus_where_somebody_else_took_the_seat():
    study = make_study(items_per_annotator=1, annotations_per_item=1)
    make_items(study, 1)
    late, other = walk_in(study), None
    answer_all(late)
    services.time_out(annotator_id=late.pk)
    other = walk_in(study)
    answer_all(other)
    services.complete(annotator_id=other.pk)

    services.complete(annotator_id=late.pk)

    assert late.assignments.get().annotation.standing == "surplus"
    assert other.assignments.get().annotation.standing == "counted"
    assert (study.all_items.get().seats_taken, study.all_items.get().answered) == (1, 1)


def test_active_time_of_earlier_visits_counts_beside_the_time_since_the_last_one(assignment):
    shown_at = timezone.now() - timedelta(seconds=5)

    annotation = answer(assignment, shown_at=shown_at, active_ms=9000, earlier_ms=4500)

    assert annotation.active_ms == 9000
    assert 5000 <= annotation.elapsed_ms < 9000


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
