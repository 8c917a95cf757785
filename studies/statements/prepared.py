"""One SQL statement on one connection, sent again and again with other arguments.

PostgreSQL plans a statement each time it comes, which takes longer than to find a row by its id.
There a statement is prepared when it is first sent on a connection: the server keeps its plan.
"""

import itertools
import threading
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

_numbers = itertools.count(1)


class Plain:
    """Sends the whole statement each time; `places` are those of the arguments."""

    def __init__(self, sql: str, constants: list[Any], places: list[int]) -> None:
        self._sql, self._constants, self._places = sql, constants, places

    def execute(self, cursor: Any, arguments: list[Any]) -> None:
        parameters = self._constants.copy()
        for place, argument in zip(self._places, arguments, strict=True):
            parameters[place] = argument
        cursor.execute(self._sql, parameters)


class Prepared:
    """Sends the arguments alone, once the server has the statement.

    A prepared statement lasts as long as its connection, even if its transaction is rolled back.
    """

    def __init__(self, sql: str, constants: list[Any], places: list[int]) -> None:
        from psycopg2.extensions import AsIs

        self._sql, self._parameters = sql, constants.copy()
        for number, place in enumerate(places, start=1):
            self._parameters[place] = AsIs(f"${number}")
        self._name = f"compiled_{next(_numbers)}"
        marks = ", ".join(["%s"] * len(places))
        self._call = f"EXECUTE {self._name} ({marks})" if places else f"EXECUTE {self._name}"
        self._known_to: Any = None  # the connection of the driver, which Django may replace

    def execute(self, cursor: Any, arguments: list[Any]) -> None:
        self._prepare(cursor)
        cursor.execute(self._call, arguments)

    def text(self, cursor: Any, arguments: list[Any]) -> bytes:
        """What `execute` sends, to be sent together with other statements."""
        self._prepare(cursor)
        text: bytes = cursor.mogrify(self._call, arguments)
        return text

    def _prepare(self, cursor: Any) -> None:
        if self._known_to is not cursor.connection:
            cursor.execute(f"PREPARE {self._name} AS {self._sql}", self._parameters)
            self._known_to = cursor.connection


_kept = threading.local()  # each thread has a connection of its own


def prepared(sql: str) -> Prepared:
    """The statement `sql` with a place %s for each argument, for this thread's connection."""
    statements: dict[str, Prepared] = _kept.__dict__
    if sql not in statements:
        count = sql.count("%s")
        statements[sql] = Prepared(sql, [None] * count, list(range(count)))
    return statements[sql]


def statement_on(
    connection: BaseDatabaseWrapper, sql: str, constants: list[Any], places: list[int]
) -> Plain | Prepared:
    kind = Prepared if connection.vendor == "postgresql" else Plain
    return kind(sql, constants, places)
