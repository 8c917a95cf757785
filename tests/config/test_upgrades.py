"""Processes of the last version go on writing while an installation is upgraded."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.apps import apps
from django.db import OperationalError, connection, migrations, models, transaction
from django.db.migrations.loader import MigrationLoader

from config import migrate
from studies.models import Item, Study
from tests.factories import make_item, make_study

# Migrations up to these are older than the rule.
BEFORE = {"studies": 22, "annotation": 11, "judging": 23, "analysis": 14, "api": 2}


def added_since():
    """Every field that a migration adds to a table that exists already."""
    for (app, name), migration in MigrationLoader(None).disk_migrations.items():
        if app not in BEFORE or int(name[:4]) <= BEFORE[app]:
            continue
        for operation in migration.operations:
            if isinstance(operation, migrations.AddField):
                yield f"{app}.{name}: {operation.model_name}.{operation.name}", operation.field


def test_the_database_knows_the_value_of_every_new_column():
    """The last version names no new column when it inserts a row."""
    without = [
        name
        for name, field in added_since()
        if not (field.null or field.has_db_default() or field.many_to_many)
    ]

    assert without == []


@pytest.mark.django_db
def test_rows_of_the_last_version_are_rows_of_this_one():
    """A row is inserted again by its old columns alone, as a process of the last version does."""
    study = make_study()
    item = make_item(study=study)
    new = {(field.model._meta.label, field.column) for field in _new_fields()}
    for model, row, unique in ((Study, study, "slug"), (Item, item, "key")):
        columns = [
            field.column
            for field in model._meta.concrete_fields
            if not field.primary_key and (model._meta.label, field.column) not in new
        ]
        listed = ", ".join(f'"{column}"' for column in columns)
        values = ", ".join("%s" if c == unique else f'"{c}"' for c in columns)
        table = model._meta.db_table
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} ({listed}) SELECT {values} FROM {table} WHERE id = %s",
                ["again", row.pk],
            )

    assert Study.objects.get(slug="again").perspective == Study.Perspective.PERSONA
    assert Item.objects.get(key="again").media == []


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_migration_gives_way_to_a_request_that_waits_for_it(monkeypatch):
    """The request has the annotators and wants the studies, the migration the other way round."""
    monkeypatch.setattr(migrate, "_PAUSE_SECONDS", 0.05)
    request_has, migration_has = threading.Event(), threading.Event()
    tries = []

    def alter(*_, **__):
        tries.append("began")
        with connection.schema_editor() as editor:
            editor.execute("LOCK TABLE studies_study IN ACCESS EXCLUSIVE MODE")
            migration_has.set()
            assert request_has.wait(20)
            # At its end, where foreign keys are made.
            editor.deferred_sql.append("LOCK TABLE annotation_annotator IN ACCESS EXCLUSIVE MODE")
        tries.append("done")

    def request():
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("LOCK TABLE annotation_annotator IN ROW EXCLUSIVE MODE")
                request_has.set()
                assert migration_has.wait(20)
                cursor.execute("SELECT 1 FROM studies_study")
            return "answered"
        finally:
            connection.close()

    monkeypatch.setattr(migrate, "call_command", alter)
    with ThreadPoolExecutor(1) as pool:
        answered = pool.submit(request)
        migrate.migrate()

    assert answered.result() == "answered"
    assert tries[0] == "began"
    assert tries[-1] == "done"
    assert len(tries) >= 3


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_other_errors_of_a_migration_are_raised_at_once(monkeypatch):
    def fail(*_, **__):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(migrate, "call_command", fail)

    with pytest.raises(OperationalError):
        migrate.migrate()


def _new_fields() -> list[models.Field]:
    names = {name.split(": ")[1] for name, _ in added_since()}
    return [
        field
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if f"{model._meta.model_name}.{field.name}" in names
    ]
