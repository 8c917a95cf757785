"""Tables as lines of JSON, the same for every database, and all of one moment."""

import datetime as dt
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from django.apps import apps
from django.contrib.sessions.models import Session
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from studies.models import FilesLocation, Heartbeat

_ROWS_AT_ONCE = 500
# Made by the migrations, also where nothing was ever stored.
_OF_DJANGO = {"django_content_type", "auth_permission"}
_FIRST_QUERY = "SELECT 1 FROM django_migrations LIMIT 1"  # the moment is that of the first query


@contextmanager
def snapshot() -> Iterator[None]:
    """Let every query inside see the rows as they were at its beginning. Nobody waits for it."""
    if connection.in_atomic_block:  # the caller's transaction decides
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(_FIRST_QUERY)
            yield
    else:
        with connection.cursor() as cursor:
            # Unlike `atomic`, which takes the lock of writers here. The log of the database keeps
            # what others write meanwhile.
            cursor.execute("BEGIN DEFERRED")
            try:
                cursor.execute(_FIRST_QUERY)
                yield
            finally:
                cursor.execute("ROLLBACK")


def kept_models() -> list[type[Model]]:
    """The models whose rows are kept, by table. Sessions are not: everybody signs in again.
    Signs of life are of the processes that run.
    """
    found = apps.get_models(include_auto_created=True)
    left_out = (Session, FilesLocation, Heartbeat)
    kept = [m for m in found if m._meta.managed and not m._meta.proxy and m not in left_out]
    return sorted(kept, key=lambda model: model._meta.db_table)


def migrations_applied() -> list[str]:
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


def lines_of(model: type[Model]) -> Iterator[bytes]:
    """Each row as a line: the values of its fields, in the order of `columns_of`."""
    rows = model._base_manager.order_by("pk").values_list(*columns_of(model))
    for row in rows.iterator(_ROWS_AT_ONCE):
        yield json.dumps(row, default=_as_json, separators=(",", ":")).encode() + b"\n"


def columns_of(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def _as_json(value: Any) -> str:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be kept in a backup")


def insert_lines(model: type[Model], lines: Iterable[bytes]) -> int:
    """Insert rows with their ids and times as they were; returns how many."""
    fields, quoted = list(model._meta.concrete_fields), connection.ops.quote_name
    columns = ", ".join(quoted(str(field.column)) for field in fields)
    into = f"INSERT INTO {quoted(model._meta.db_table)} ({columns})"
    places = f"({', '.join(['%s'] * len(fields))})"
    stored, found = 0, iter(lines)
    while some := list(islice(found, _ROWS_AT_ONCE)):
        rows = [
            [
                field.get_db_prep_save(field.to_python(value), connection)
                for field, value in zip(fields, json.loads(line), strict=True)
            ]
            for line in some
        ]
        step = connection.ops.bulk_batch_size(fields, rows)
        with connection.cursor() as cursor:
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                values = ", ".join([places] * len(part))
                cursor.execute(f"{into} VALUES {values}", list(chain.from_iterable(part)))
        stored += len(rows)
    return stored


def first_table_in_use() -> str:
    """A table that has rows; empty if nothing was stored since the migrations."""
    for model in kept_models():
        table = model._meta.db_table
        if table not in _OF_DJANGO and model._base_manager.exists():
            return table
    return ""


def lock_tables() -> None:
    """Let nobody read or write until the end of the transaction; on SQLite it has the lock."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {', '.join(_names())} IN ACCESS EXCLUSIVE MODE")


def empty_tables() -> None:
    with connection.cursor() as cursor:
        for name in _names():
            cursor.execute(f"DELETE FROM {name}")  # noqa: S608 - names of our own tables


def _names() -> list[str]:
    models: list[type[Model]] = [*kept_models(), Session]
    tables = [model._meta.db_table for model in models]
    return [connection.ops.quote_name(table) for table in tables]


def reset_sequences() -> None:
    """Let the next row of each table get an id after those that were restored."""
    with connection.cursor() as cursor:
        for sql in connection.ops.sequence_reset_sql(no_style(), kept_models()):
            cursor.execute(sql)
