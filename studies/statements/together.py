"""Statements that are sent together, to wait for the database once."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from studies.statements.prepared import prepared


class Statements:
    """Statements that are sent together: on PostgreSQL in one round trip, and prepared."""

    def __init__(self, cursor: CursorWrapper) -> None:
        self._cursor = cursor
        self._texts: list[bytes] = []
        self._others: list[tuple[str, Sequence[tuple[Any, ...]]]] = []

    def add(self, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add a statement, once for each row."""
        if connection.vendor == "postgresql":
            statement = prepared(sql)
            self._texts += [statement.text(self._cursor, list(row)) for row in rows]
        elif rows:
            self._others.append((sql, rows))

    def execute(self) -> None:
        if self._texts:
            self._cursor.execute(b";".join(self._texts).decode())
        for sql, rows in self._others:
            self._cursor.executemany(sql, rows)
        self._texts, self._others = [], []
