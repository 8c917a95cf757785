"""Tables of extras that are gone are dropped, and their absence is no fault."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

of_extras = import_module("api.migrations.0002_tables_of_deleted_extras")

pytestmark = pytest.mark.django_db


def test_tables_of_deleted_extras_are_dropped():
    name = of_extras.TABLES[0]
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (id integer)")

    of_extras.drop(apps, SimpleNamespace(connection=connection))

    assert not set(of_extras.TABLES) & set(connection.introspection.table_names())
