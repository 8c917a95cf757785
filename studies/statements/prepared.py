"""Statements that PostgreSQL plans once, and several of them that are sent together.

PostgreSQL plans a statement each time it comes, which takes longer than to find a row by its id.
A statement that is prepared when it is first sent on a connection has its plan kept by the server.
Nothing is prepared on SQLite, whose driver keeps statements itself.
"""

import threading
from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

# Each thread has a connection of its own.
_known = threading.local()


def execute(cursor: CursorWrapper, sql: str, arguments: Sequence[Any]) -> None:
    """Send a statement with a place %s for each argument."""
    if connection.vendor == "postgresql":
        sql = _call(cursor, sql)
    cursor.execute(sql, arguments)


def _call(cursor: CursorWrapper, sql: str) -> str:
    """A call of the statement, which is prepared if the server does not know it yet.

    It knows it as long as the connection lasts, even if the transaction is rolled back.
    """
    if getattr(_known, "connection", None) is not cursor.connection:  # Django may replace it
        _known.connection, _known.calls = cursor.connection, {}
    if sql not in _known.calls:
        from psycopg2.extensions import AsIs

        name, count = f"statement_{len(_known.calls)}", sql.count("%s")
        places: list[Any] = [AsIs(f"${number + 1}") for number in range(count)]
        cursor.execute(f"PREPARE {name} AS {sql}", places)
        _known.calls[sql] = f"EXECUTE {name} ({', '.join(['%s'] * count)})"
    call: str = _known.calls[sql]
    return call


class Statements:
    """Statements that are sent together: on PostgreSQL in one round trip."""

    def __init__(self, cursor: CursorWrapper) -> None:
        self._cursor = cursor
        self._calls: list[bytes] = []
        self._others: list[tuple[str, Sequence[tuple[Any, ...]]]] = []

    def add(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add a statement, once for each row."""
        if connection.vendor == "postgresql":
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
