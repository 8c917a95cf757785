"""Processes of the last version go on writing while an installation is upgraded."""

import pytest
from django.apps import apps
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader

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


def _new_fields() -> list[models.Field]:
    names = {name.split(": ")[1] for name, _ in added_since()}
    return [
        field
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if f"{model._meta.model_name}.{field.name}" in names
    ]
