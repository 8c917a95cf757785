"""Writers of an SQLite database wait for one another, and not for ever."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Barrier, Event, Thread, get_ident
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
    # However long a busy machine takes to let the thread commit.
    second.settings_dict["OPTIONS"]["timeout"] = 60
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


def test_placeholders_and_percent_signs_arrive_however_often_a_statement_is_sent(two):
    first, second = two
    for connection, number in ((first, 1), (first, 2), (second, 3)):
        cursor = connection.cursor()
        assert cursor.execute("SELECT %s, '50%%'", [number]).fetchone() == (number, "50%")
        assert cursor.execute("SELECT '50%'").fetchone() == ("50%",)
        assert cursor.execute("SELECT %(n)s", {"n": number}).fetchone() == (number,)
        assert cursor.execute("SELECT %(m)s", {"m": number}).fetchone() == (number,)
    long = f"SELECT %s, '{'x' * 20_000}'"
    assert first.cursor().execute(long, [4]).fetchone()[0] == 4


def test_one_thread_asks_for_the_database_and_the_others_wait_for_that_thread(
    tmp_path, django_db_blocker
):
    """All of them begin a transaction while another program writes."""
    handler = ConnectionHandler({"default": sqlite(tmp_path / "some.sqlite3")})
    with closing(sqlite3.connect(tmp_path / "some.sqlite3")) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("CREATE TABLE numbers (number)")
        other.execute("BEGIN IMMEDIATE")
        asked: list[int] = []
        starting, is_asked_again = Barrier(5), Event()

        def note(execute: Any, sql: str, *arguments: Any) -> Any:
            if sql.startswith("BEGIN"):
                asked.append(get_ident())
                if len(asked) == 4:
                    is_asked_again.set()
            return execute(sql, *arguments)

        def write() -> None:
            with closing(handler["default"]) as connection:
                connection.ensure_connection()
                connection.execute_wrappers.append(note)
                starting.wait()
                begin(connection)
                connection.cursor().execute("INSERT INTO numbers VALUES (1)")
                connection.commit()

        with django_db_blocker.unblock():
            threads = [Thread(target=write) for _ in range(5)]
            for thread in threads:
                thread.start()
            assert is_asked_again.wait(60)
            asked_meanwhile = set(asked)
            other.rollback()
            for thread in threads:
                thread.join()

        assert len(asked_meanwhile) == 1
        assert len(set(asked)) == 5
        assert other.execute("SELECT count(*) FROM numbers").fetchone() == (5,)
