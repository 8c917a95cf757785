"""Tables as migrations of before made them, to see what the next migrations do to their rows.

They are made from what the migrations say of a few models, without the hundred other migrations
and models, and apart from the tables of every other test.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from django.apps.registry import Apps
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState
from django.db.migrations.utils import resolve_relation

on_either_database = pytest.mark.parametrize(
    "database",
    [
        pytest.param("PostgreSQL", marks=pytest.mark.postgres),
        pytest.param("SQLite", marks=pytest.mark.sqlite),
    ],
)


class Tables:
    """The tables of some models, first as they are after the last of `migrations`."""

    def __init__(self, models: Sequence[str], migrations: Sequence[tuple[str, str]]) -> None:
        loader = MigrationLoader(None)
        self._migrations = [loader.get_migration(*migration) for migration in migrations]
        needed = {node for one in self._migrations for node in one.dependencies}
        state = _only(models, loader.project_state([*needed - {*migrations}]))
        self._before = []
        for migration in self._migrations:
            self._before.append(state.clone())
            state = migration.mutate_state(state)
        self.models: Apps = state.apps
        with connection.schema_editor() as editor:
            for model in self.models.get_models():
                editor.create_model(model)

    def go_back(self) -> Apps:
        """Undo the migrations; the models before all of them."""
        for migration, state in zip(self._migrations[::-1], self._before[::-1], strict=True):
            connection.check_constraints()
            with connection.schema_editor() as editor:
                migration.unapply(state.clone(), editor)
        return self._before[0].apps

    def go_on(self) -> Apps:
        """Apply the migrations again; the models after all of them."""
        state = self._before[0].clone()
        for migration in self._migrations:
            connection.check_constraints()
            with connection.schema_editor() as editor:
                state = migration.apply(state, editor)
        return state.apps


@contextmanager
def tables(models: Sequence[str], migrations: Sequence[tuple[str, str]]) -> Iterator[Tables]:
    """Tables of `models` and of those that they point to, in a database that has no others."""
    if connection.vendor != "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("CREATE SCHEMA of_before; SET LOCAL search_path TO of_before")
        yield Tables(models, migrations)
        return  # The schema goes with the transaction of the test.
    tests, connections["default"] = connections["default"], connection.copy()
    try:
        connection.settings_dict["NAME"] = ":memory:"
        yield Tables(models, migrations)
    finally:
        connection.close()
        connections["default"] = tests


def _only(models: Sequence[str], state: ProjectState) -> ProjectState:
    """The models of these names, and all that their rows point to."""
    found: dict[tuple[str, str], ModelState] = {}
    wanted = [resolve_relation(model) for model in models]
    while wanted:
        app, name = wanted.pop()
        if (app, name) not in found:
            model = found[app, name] = state.models[app, name].clone()
            wanted += [
                resolve_relation(field.remote_field.model, app, name)
                for field in model.fields.values()
                if field.remote_field
            ]
    return ProjectState(models=found)
