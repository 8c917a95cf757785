"""Writers of an SQLite database take turns, in threads and in processes."""

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from django.db import connection, transaction
from django.db.utils import ConnectionHandler, OperationalError

from config.env import sqlite
from config.sqlite.base import DatabaseWrapper
from config.sqlite.queue import WriterQueue
from tests.together import run_together

pytestmark = pytest.mark.sqlite

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "some.sqlite3"
    path.touch()
    return path


@pytest.fixture
def queue(database: Path) -> WriterQueue:
    return WriterQueue(database, timeout=60)


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.config.queueing", *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_threads_write_in_the_order_in_which_they_came(queue):
    served = []

    def write(number: int) -> None:
        queue.enter()
        served.append(number)
        queue.leave()

    queue.enter()
    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for number, thread in enumerate(threads, start=1):
        thread.start()
        while len(queue._waiting) < number:
            time.sleep(0.001)
    queue.leave()
    for thread in threads:
        thread.join()

    assert served == list(range(20))


def test_processes_take_turns_and_no_thread_is_passed_over(database, tmp_path):
    threads, turns = 4, 25
    log = tmp_path / "log"
    log.touch()
    processes = [start("take-turns", database, log, threads, turns) for _ in range(2)]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)

    lines = log.read_text().splitlines()
    own = [line.split()[0] for line in lines]
    assert len(lines) == len(processes) * threads * turns
    # From the moment at which both write until one of them is done, they alternate. A process that
    # starts its threads or is paused by the machine can miss single turns.
    both = own[own.index(next(pid for pid in own if pid != own[0])) : _first_end(own)]
    same_again = sum(one == other for one, other in itertools.pairwise(both))
    assert same_again <= len(both) / 10
    # Between two turns of a thread, each of the others has about one.
    for writer in set(lines):
        places = [place for place, line in enumerate(lines) if line == writer]
        gaps = [later - earlier for earlier, later in itertools.pairwise(places)]
        assert max(gaps) <= 2 * len(processes) * threads


def _first_end(own: list[str]) -> int:
    """The position of the last turn of the process that is done first."""
    return min(len(own) - own[::-1].index(pid) for pid in set(own))


def test_a_killed_holder_frees_the_queue(database, queue):
    holder = start("hold", database)
    holder.stdout.readline()
    served = threading.Event()

    def wait() -> None:
        queue.enter()
        served.set()

    waiting = threading.Thread(target=wait)
    waiting.start()

    assert not served.wait(0.2)
    holder.kill()
    holder.communicate()

    assert served.wait(30)
    waiting.join()
    queue.leave()


def test_a_thread_that_waited_too_long_leaves_the_line(database):
    queue = WriterQueue(database, timeout=0.05)
    queue.enter()

    errors = run_together(lambda _: queue.enter(), [1, 2])
    queue.leave()
    queue.enter()
    queue.leave()

    assert [str(error) for error in errors] == ["database is locked"] * 2
    assert isinstance(errors[0], OperationalError)


def test_a_child_process_does_not_wait_for_threads_of_its_parent(queue):
    queue.enter()

    child = os.fork()
    if child == 0:
        os._exit(queue._is_busy)
    status = os.waitpid(child, 0)[1]
    queue.leave()

    assert status == 0


@pytest.fixture
def connections(database: Path, django_db_blocker: Any) -> Iterator[list[DatabaseWrapper]]:
    """Two connections to the database that soon give up waiting."""
    settings = sqlite(database)
    settings["OPTIONS"]["timeout"] = 0.1
    opened = [
        cast(DatabaseWrapper, ConnectionHandler({"default": settings})["default"]) for _ in range(2)
    ]
    with django_db_blocker.unblock(), closing(opened[0]), closing(opened[1]):
        yield opened


def begin(opened: DatabaseWrapper) -> None:
    opened.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def test_a_write_waits_for_a_transaction_and_a_read_does_not(connections):
    first, second = connections
    first.cursor().execute("CREATE TABLE numbers (number)")
    begin(first)

    second.cursor().execute("SELECT * FROM numbers")
    for write in ("INSERT INTO numbers VALUES (1)", "UPDATE numbers SET number = 2"):
        with pytest.raises(OperationalError, match="database is locked"):
            second.cursor().execute(write)
    first.commit()
    first.set_autocommit(True)
    second.cursor().execute("INSERT INTO numbers VALUES (3)")

    assert second.cursor().execute("SELECT * FROM numbers").fetchall() == [(3,)]


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_every_end_of_a_transaction_gives_the_turn_to_the_next(connections, end):
    first, second = connections
    begin(first)
    getattr(first, end)()

    begin(second)
    second.rollback()


def test_a_transaction_that_cannot_begin_gives_its_turn_back(connections):
    first, second = connections
    with first.cursor() as cursor:
        # As a program would that does not queue.
        cursor.cursor.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="database is locked"):
            begin(second)
        cursor.cursor.execute("ROLLBACK")

    begin(second)
    second.rollback()


@pytest.mark.django_db(transaction=True)
def test_transactions_within_a_transaction_and_after_it_do_not_wait_for_themselves():
    done = []

    def write_again() -> None:
        with transaction.atomic():
            done.append("after")

    with transaction.atomic():
        transaction.on_commit(write_again)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("DELETE FROM annotation_linkstart")
            done.append("within")

    assert done == ["within", "after"]
