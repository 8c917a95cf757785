"""Many rows at once, and statements that PostgreSQL plans once.

Model instances take several times as long, because Django prepares each value of each row.
PostgreSQL gets rows by COPY, SQLite by one prepared INSERT.

PostgreSQL plans a statement each time it is sent, which takes longer than finding a row by its id.
It keeps the plan of a statement that was prepared on the connection. Nothing is prepared on SQLite,
whose driver caches statements itself.
"""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connection, models
from django.db.backends.utils import CursorWrapper
from django.db.models import Func

from studies.statements import clock


def insert_rows(
    model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows with values for the fields `names`; a foreign key is given by its id.

    Every other field has its default in all rows. Values are stored as they are: the caller has
    checked them. Signals are not sent.
    """
    fields = {field.name: field for field in model._meta.concrete_fields}
    columns = [fields.pop(name) for name in names]
    others = [field for field in fields.values() if not field.primary_key]
    defaults = [_default(field) for field in others]
    converters = [
        (n, converter) for n, field in enumerate(columns) if (converter := _converter(field))
    ]
    cells = []
    for row in rows:
        values = [*row, *defaults]
        for n, convert in converters:
            values[n] = convert(values[n])
        cells.append(values)
    if cells:
        _insert(model._meta.db_table, [str(field.column) for field in (*columns, *others)], cells)


def _default(field: Any) -> Any:
    value = clock.now() if getattr(field, "auto_now_add", False) else field.get_default()
    convert = _converter(field)
    return convert(value) if convert else value


def _converter(field: Any) -> Callable[[Any], Any] | None:
    if isinstance(field, models.JSONField):
        return _json
    if isinstance(field, models.DateTimeField):
        return connection.ops.adapt_datetimefield_value
    return None


def _json(value: Any) -> str | None:
    """As Django stores it: None is NULL, not JSON's null."""
    return None if value is None else json.dumps(value)


def _insert(table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    quote = connection.ops.quote_name
    into = f"{quote(table)} ({', '.join(map(quote, columns))})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            lines = "".join("\t".join(map(_copied, row)) + "\n" for row in rows)
            cursor.copy_expert(f"COPY {into} FROM STDIN", io.StringIO(lines))
        else:
            places = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {into} VALUES ({places})", rows)  # noqa: S608


def _copied(value: Any) -> str:
    """A value in the text format of COPY."""
    if value is None:
        return r"\N"
    text = value if isinstance(value, str) else str(value)
    for sign, escaped in (("\\", r"\\"), ("\t", r"\t"), ("\n", r"\n"), ("\r", r"\r")):
        if sign in text:
            text = text.replace(sign, escaped)
    return text


class ByLetters(Func):
    """A text column in code point order, as Python sorts texts."""

    arity = 1
    template = '%(expressions)s COLLATE "C"'

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="%(expressions)s COLLATE BINARY", **extra)


# What each open connection of psycopg2 has prepared: its calls, by statement.
_prepared: WeakKeyDictionary[Any, dict[str, str]] = WeakKeyDictionary()


def execute(cursor: CursorWrapper, sql: str, arguments: Sequence[Any]) -> None:
    """Send a statement with a placeholder %s for each argument."""
    if cursor.db.vendor == "postgresql":
        sql = _call(cursor, sql)
    cursor.execute(sql, arguments)


def _call(cursor: CursorWrapper, sql: str) -> str:
    """A call of the statement, preparing it if the server does not know it yet.

    The server knows it until the connection ends, even after a rollback.
    """
    calls = _prepared.setdefault(cursor.connection, {})
    if sql not in calls:
        from psycopg2.extensions import AsIs

        name, count = f"statement_{len(calls)}", sql.count("%s")
        places: list[Any] = [AsIs(f"${number + 1}") for number in range(count)]
        cursor.execute(f"PREPARE {name} AS {sql}", places)
        calls[sql] = f"EXECUTE {name} ({', '.join(['%s'] * count)})"
    return calls[sql]


class Statements:
    """Statements sent together: on PostgreSQL in one round trip."""

    def __init__(self, cursor: CursorWrapper) -> None:
        self._cursor = cursor
        self._calls: list[bytes] = []
        self._others: list[tuple[str, Sequence[tuple[Any, ...]]]] = []

    def add(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add a statement, once for each row."""
        if self._cursor.db.vendor == "postgresql":
            call = _call(self._cursor, sql)
            self._calls += [self._cursor.mogrify(call, row) for row in rows]
        elif rows:
            self._others.append((sql, rows))

    def execute(self) -> None:
        if self._calls:
            self._cursor.execute(b";".join(self._calls).decode())
        for sql, rows in self._others:
            self._cursor.executemany(sql, rows)
        self._calls, self._others = [], []
