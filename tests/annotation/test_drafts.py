"""Drafts: kept as they were typed, never an answer, never overwritten unseen."""

import pytest

from annotation import services
from annotation.errors import AlreadyEnded, DraftChanged
from annotation.files.answers_out import annotation_rows
from annotation.models import Annotation, Assignment, Draft
from annotation.services.answers import stamp_of
from tests.factories import answer_item, make_items, make_study, walk_in
from tests.together import run_together

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = make_study(items_per_annotator=2)
    make_items(study, 2)
    return study


def stamp(assignment):
    return stamp_of(Assignment.objects.select_related("annotation", "draft").get(pk=assignment.pk))


def save(assignment, **entries):
    at = entries.pop("stamp", None) or stamp(assignment)
    return services.save_draft(
        annotator_id=assignment.annotator_id, assignment_id=assignment.pk, stamp=at, **entries
    )


def test_a_draft_freezes_nothing_and_is_not_exported(study, assignment):
    save(assignment, choice="r1", certainty="80")

    assignment.refresh_from_db()
    study.refresh_from_db()
    item = assignment.item
    assert not Annotation.objects.exists()
    assert (assignment.state, item.answered, study.frozen_at) == ("reserved", 0, None)
    assert list(annotation_rows(study)) == []


def test_the_answer_deletes_its_draft_and_ignores_a_late_one(assignment):
    before = stamp(assignment)
    save(assignment, choice="r1", certainty="8")
    answer_item(assignment, certainty=80)

    with pytest.raises(DraftChanged):
        save(assignment, stamp=before, choice="r1", certainty="80")

    assert not Draft.objects.exists()
    assert stamp(assignment) == "1.0"


def test_a_draft_survives_a_time_out_but_not_a_withdrawal(annotator, assignment):
    save(assignment, choice="r1")
    services.time_out(annotator_id=annotator.pk)
    save(assignment, choice="r2")
    assert Draft.objects.count() == 1

    services.withdraw(annotator_id=annotator.pk)

    assert not Draft.objects.exists()
    with pytest.raises(AlreadyEnded):
        save(assignment, choice="r1")


def test_skipping_an_item_drops_its_draft(annotator, assignment):
    save(assignment, choice="r1")

    services.skip_item(annotator_id=annotator.pk, assignment_id=assignment.pk)

    assert not Draft.objects.exists()


def test_a_draft_costs_a_fixed_number_of_queries(assignment, django_assert_max_num_queries):
    save(assignment, choice="r1")
    at = stamp(assignment)

    with django_assert_max_num_queries(5):
        save(assignment, stamp=at, choice="r1", certainty="5")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_tabs_that_save_at_the_same_moment_one_is_kept_and_the_others_are_told():
    study = make_study(items_per_annotator=1)
    make_items(study, 1)
    place = walk_in(study).assignments.get()

    errors = run_together(lambda n: save(place, stamp="0.0", certainty=str(n)), list(range(1, 9)))

    assert [type(error) for error in errors] == [DraftChanged] * 7
    assert Draft.objects.get().version == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_an_answer_and_a_simultaneous_draft_only_the_answer_remains():
    study = make_study(items_per_annotator=1)
    make_items(study, 1)
    place = walk_in(study).assignments.get()

    def work(number: int) -> None:
        if number:
            save(place, stamp="0.0", choice="r1", certainty="8")
        else:
            answer_item(place, certainty=80)

    errors = run_together(work, [0, 1, 2, 3])

    assert {type(error) for error in errors} == {DraftChanged}
    assert Annotation.objects.get().certainty == 80
    assert not Draft.objects.exists()
