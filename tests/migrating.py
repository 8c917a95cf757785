"""To tables of before, and to those of now again: each way takes seconds, so a test goes once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection
from django.db.migrations.executor import MigrationExecutor


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
