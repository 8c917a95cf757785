"""To tables of before, and to those of now again: each way takes seconds, so a test goes once.

Of all tests with both marks, one runs by default, on one of the two databases.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

sampled_migration = pytest.mark.sampled(keep=1, group="migrations")
on_either_database = pytest.mark.parametrize(
    "database",
    [
        pytest.param("PostgreSQL", marks=pytest.mark.postgres),
        pytest.param("SQLite", marks=pytest.mark.sqlite),
    ],
)


@contextmanager
def tables_of(*migrations: tuple[str, str]) -> Iterator[Any]:
    """The models after `migrations`, with their tables; at its end the tables are the newest."""
    executor = MigrationExecutor(connection)
    try:
        executor.migrate([*migrations])
        # What `migrate` returns on a way back depends on the order in which apps went back.
        yield executor.loader.project_state([*migrations]).apps
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
