"""What the item page and an answer read by plain SQL is what query sets read."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import (
    Annotation,
    AnnotationRevision,
    Annotator,
    AnnotatorEvent,
    Assignment,
    Draft,
)
from annotation.seats.item_statements import (
    annotator_of,
    assignment_at,
    insert,
    locked_assignment,
    update,
)
from tests.factories import make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotator():
    study = make_study(items_per_annotator=2)
    make_items(study, 2)
    return walk_in(study)


def fields_of(row):
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def test_the_annotator_comes_with_the_study(annotator):
    found = annotator_of(annotator.study.slug, annotator.pk)

    stored = Annotator.objects.select_related("study").get(pk=annotator.pk)
    assert fields_of(found) == fields_of(stored)
    assert fields_of(found.study) == fields_of(stored.study)
    assert annotator_of("elsewhere", annotator.pk) is None


def test_an_assignment_comes_with_all_that_its_page_shows(annotator, django_assert_max_num_queries):
    answered, drafted = annotator.assignments.order_by("position")
    Annotation.objects.create(
        assignment=answered,
        choice="r1",
        certainty=60,
        answered_at=timezone.now(),
        elapsed_ms=5,
        certainty_asked=True,
        standing="counted",
        ranking={"ranking": [1, 2]},
    )
    Draft.objects.create(assignment=drafted, choice="r2", places={"1": 2})

    # Each is prepared once.
    with django_assert_max_num_queries(3):
        shown = [assignment_at(annotator, each.position) for each in (answered, drafted)]
        missing = [hasattr(shown[0], "draft"), hasattr(shown[1], "annotation")]
    stored = Assignment.objects.select_related("item__persona", "annotation", "draft")
    for found, kept in zip(shown, stored.order_by("position"), strict=True):
        assert fields_of(found) == fields_of(kept)
        assert fields_of(found.item) == fields_of(kept.item)
        assert fields_of(found.item.persona) == fields_of(kept.item.persona)
    assert fields_of(shown[0].annotation) == fields_of(Annotation.objects.get())
    assert fields_of(shown[1].draft) == fields_of(Draft.objects.get())
    assert missing == [False, False]
    with pytest.raises(Assignment.DoesNotExist):
        assignment_at(annotator, 3)


def test_a_locked_assignment_reads_the_texts_of_its_item_only_if_they_are_asked_for(annotator):
    assignment = annotator.assignments.first()

    found = locked_assignment(assignment.pk, annotator.pk)

    assert "question" in found.item.get_deferred_fields()
    assert fields_of(found.item) == fields_of(assignment.item)
    assert fields_of(found) == fields_of(assignment)
    with pytest.raises(Assignment.DoesNotExist):
        locked_assignment(assignment.pk, annotator.pk + 1)


def test_an_inserted_object_is_stored_as_its_own_save_stores_it(annotator):
    now = timezone.now()
    times = {"shown_at": now, "answered_at": now, "elapsed_ms": 5, "active_ms": None}
    entered = {"choice": "tie", "certainty": None, "media_missing": True, **times}
    answer = {
        "certainty_asked": False,
        "standing": Annotation.Standing.CHECK,
        "ranking": {"ranking": [1, 2]},
        "signals": {"pasted": 1},
    }
    first, second = annotator.assignments.order_by("position")
    kinds = [
        (Annotation, {**entered, **answer}, {"assignment": first}, {"assignment": second}),
        (AnnotationRevision, {**entered, "ranking": None, "number": 1}, {}, {}),
        (AnnotatorEvent, {"event": "state", "detail": {"a": "ä"}}, {}, {}),
    ]
    for model, values, of_first, of_second in kinds:
        if model is AnnotatorEvent:
            of_first = of_second = {"annotator": annotator}
        if model is AnnotationRevision:
            of_first, of_second = ({"annotation": row} for row in Annotation.objects.order_by("pk"))
        saved, inserted = model(**values, **of_first), model(**values, **of_second)
        saved.save()
        insert(inserted)

        besides = {"id", "created_at", "at", *(f"{name}_id" for name in of_first)}
        rows = model.objects.order_by("pk").filter(pk__in=[saved.pk, inserted.pk])
        stored = [
            {name: value for name, value in fields_of(row).items() if name not in besides}
            for row in rows
        ]
        assert stored[0] == stored[1]
        assert abs(fields_of(rows[1])["created_at"] - now).total_seconds() < 60


def test_an_update_stores_only_its_fields(annotator):
    before = fields_of(Annotator.objects.get(pk=annotator.pk))
    annotator.state, annotator.feedback = Annotator.State.TIMED_OUT, "not stored"
    annotator.ended_at, annotator.first_answer_by = timezone.now(), None

    update(annotator, ["state", "ended_at", "first_answer_by"])

    changed = {"state": "timed_out", "ended_at": annotator.ended_at, "first_answer_by": None}
    assert fields_of(Annotator.objects.get(pk=annotator.pk)) == before | changed


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_lock_needs_a_transaction_and_survives_a_rollback_as_prepared(annotator):

    connection.close()

    def sent():
        with CaptureQueriesContext(connection) as queries, transaction.atomic():
            locked_assignment(annotator.assignments.first().pk, annotator.pk)
            transaction.set_rollback(True)
        return [query["sql"].split()[0] for query in queries]

    assert "PREPARE" in sent()
    assert "PREPARE" not in sent()
