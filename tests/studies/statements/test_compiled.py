"""Compiled statements do what Django's own do."""

import threading

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from annotation.models import Annotator, Assignment, Draft
from studies.models import Item, StudyLog
from studies.statements.compiled import CompiledChange, Insert, Select
from tests.factories import make_annotator, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotator():
    study = make_study(items_per_annotator=3)
    make_items(study, 3)
    return walk_in(study)


def _people(pk, slug):
    return Annotator.objects.filter(pk=pk, study__slug=slug).select_related("study", "quota_group")


def test_objects_are_those_of_the_query_set(annotator):
    people = Select(_people, int, str)
    expected = _people(annotator.pk, annotator.study.slug).get()

    for _ in range(2):
        [found] = people.all(annotator.pk, annotator.study.slug)
        assert vars(found) | {"_state": None} == vars(expected) | {"_state": None}
        assert vars(found.study) | {"_state": None} == vars(expected.study) | {"_state": None}
        assert found._state.db == expected._state.db
    assert people.first(annotator.pk, "elsewhere") is None


def test_deferred_fields_and_missing_relations_stay_so(annotator):
    def build(pk):
        return (
            Assignment.objects.filter(annotator=pk)
            .select_related("draft")
            .only("position", "draft__choice")
        )

    first, *_ = Select(build, int).all(annotator.pk)

    assert first.get_deferred_fields() == build(annotator.pk)[0].get_deferred_fields()
    with pytest.raises(Draft.DoesNotExist):
        _ = first.draft


def test_rows_are_those_of_the_query_set(annotator):
    def build(pk):
        return Assignment.objects.filter(annotator=pk).values_list(
            "position", "is_surplus", "created_at", "item__r1"
        )

    assert [tuple(row) for row in Select(build, int).all(annotator.pk)] == list(build(annotator.pk))


def test_a_change_counts_its_rows_and_evaluates_expressions(annotator):
    add = CompiledChange(
        lambda pk: Item.everything.filter(pk=pk), int, seats_needed=F("seats_needed") + 1
    )
    item = Item.objects.first()

    assert add(item.pk) == 1
    assert add(0) == 0
    before, _ = item.seats_needed, item.refresh_from_db()
    assert item.seats_needed == before + 1


def test_a_deletion_takes_the_rows_of_its_arguments_alone(annotator):
    delete = CompiledChange(lambda pk: Draft.objects.filter(assignment=pk), int)
    mine, other, _ = annotator.assignments.all()
    Draft.objects.create(assignment=mine)
    Draft.objects.create(assignment=other)

    assert delete(mine.pk) == 1
    assert [draft.assignment for draft in Draft.objects.all()] == [other]


def test_an_insert_stores_what_saving_would(annotator):
    log = StudyLog(study=annotator.study, event="x", detail={"a": [1, None]})

    Insert(StudyLog)(log)

    stored = StudyLog.objects.get(pk=log.pk)
    assert (stored.event, stored.detail, stored.created_at) == (
        "x",
        {"a": [1, None]},
        log.created_at,
    )
    log.event = "y"
    log.save()
    assert StudyLog.objects.filter(event="y").count() == 1


def test_a_statement_must_use_its_arguments():
    with pytest.raises(TypeError, match="does not appear"):
        Select(lambda pk: Annotator.objects.filter(pk=7), int).all(1)


@pytest.mark.django_db(transaction=True)
def test_a_lock_needs_a_transaction():
    annotator = make_annotator(study=make_study())
    lock = Select(lambda pk: Annotator.objects.filter(pk=pk).select_for_update(), int)
    with transaction.atomic():
        assert lock.first(annotator.pk) == annotator

    with pytest.raises(transaction.TransactionManagementError):
        lock.first(annotator.pk)


@pytest.mark.django_db(transaction=True)
def test_each_thread_has_its_own():
    annotator = make_annotator(study=make_study())
    people = Select(_people, int, str)
    found = [people.first(annotator.pk, annotator.study.slug)]

    def read():
        found.append(people.first(annotator.pk, annotator.study.slug))
        connection.close()

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()

    assert found == [annotator, annotator]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_statement_is_prepared_once_per_connection_and_outlives_a_rollback():
    annotator = make_annotator(study=make_study())
    people = Select(_people, int, str)

    def sent():
        with CaptureQueriesContext(connection) as queries:
            assert people.first(annotator.pk, annotator.study.slug) == annotator
        return [query["sql"].split()[0] for query in queries]

    with transaction.atomic():
        assert sent() == ["PREPARE", "EXECUTE"]
        transaction.set_rollback(True)
    assert sent() == ["EXECUTE"]
    connection.close()
    assert sent() == ["PREPARE", "EXECUTE"]
    assert sent() == ["EXECUTE"]
