"""Writers of an SQLite database wait for one another, and not for ever."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.db.utils import ConnectionHandler, OperationalError

from config.env import sqlite

pytestmark = pytest.mark.sqlite


@pytest.fixture
def two(tmp_path: Path, django_db_blocker: Any) -> Iterator[tuple[Any, Any]]:
    """Two connections to a database with a table, of which the second waits for half a second."""
    first, second = sqlite(tmp_path / "some.sqlite3"), sqlite(tmp_path / "some.sqlite3")
    second["OPTIONS"] |= {"timeout": 0.5}
    handler = ConnectionHandler({"default": first, "second": second})
    with django_db_blocker.unblock(), closing(handler["default"]), closing(handler["second"]):
        for connection in handler.all():
            connection.inc_thread_sharing()
        handler["default"].cursor().execute("CREATE TABLE numbers (number)")
        yield handler["default"], handler["second"]


def begin(connection: Any) -> None:
    connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


@pytest.mark.parametrize("is_single", [True, False])
def test_a_write_waits_for_a_transaction_and_a_read_does_not(two, is_single):
    first, second = two
    begin(first)
    first.cursor().execute("INSERT INTO numbers VALUES (1)")

    assert second.cursor().execute("SELECT * FROM numbers").fetchall() == []
    with pytest.raises(OperationalError, match="database is locked"):
        second.cursor().execute("DELETE FROM numbers") if is_single else begin(second)
    ending = Thread(target=first.commit)
    ending.start()
    if is_single:
        second.cursor().execute("UPDATE numbers SET number = 2")
    else:
        begin(second)
        second.cursor().execute("UPDATE numbers SET number = 2")
        second.commit()
    ending.join()

    assert first.cursor().execute("SELECT * FROM numbers").fetchall() == [(2,)]
