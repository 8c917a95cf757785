"""The queue of an SQLite database's writers: threads and processes write in the order they came.

SQLite itself has no queue. A writer that finds the database locked sleeps and tries again, each
time for longer, and whoever happens to be awake when the lock is free takes it: under load most
writers are served quickly and some wait for seconds.

The queue only decides who tries next. What protects the data is SQLite's own lock, so a writer that
does not queue (another program) costs waiting time and nothing else.
"""

import contextlib
import fcntl
import os
import threading
from collections import deque
from pathlib import Path

from django.db.utils import OperationalError

# Bytes of the queue's file. A process holds the turn while it writes. The one that gets it next
# holds the entrance, so a process that has just written cannot be faster.
_ENTRANCE, _TURN = 0, 1


class WriterQueue:
    """The queue of one database file, for all threads of this process and for other processes.

    Threads of a process wait in a line here, and the first of them waits for other processes, which
    take turns. The kernel gives a process's turn to others when it ends, however it ends.
    """

    def __init__(self, database: Path, *, timeout: float) -> None:
        self._database = database
        self._timeout = timeout
        self._file: int | None = None
        self._start_empty()
        # A child process has none of its parent's threads, so nobody would leave.
        os.register_at_fork(after_in_child=self._start_empty)

    def _start_empty(self) -> None:
        self._lock = threading.Lock()
        self._is_busy = False
        self._waiting: deque[threading.Lock] = deque()

    def enter(self) -> None:
        """Wait for the turn, at most the time-out within the process."""
        self._wait_for_threads()
        try:
            self._wait_for_processes()
        except BaseException:
            self._call_next_thread()
            raise

    def leave(self) -> None:
        """Give the turn to the next writer."""
        try:
            fcntl.lockf(self._descriptor(), fcntl.LOCK_UN, 1, _TURN)
        finally:
            self._call_next_thread()

    def _wait_for_threads(self) -> None:
        called = threading.Lock()
        with self._lock:
            if not self._is_busy:
                self._is_busy = True
                return
            called.acquire()
            self._waiting.append(called)
        try:
            if called.acquire(timeout=self._timeout):
                return
            raise OperationalError("database is locked")
        except BaseException:
            if not self._give_up(called):
                self._call_next_thread()
            raise

    def _give_up(self, called: threading.Lock) -> bool:
        """Leave the line; False if the thread was called at this moment and has the turn."""
        with self._lock, contextlib.suppress(ValueError):
            self._waiting.remove(called)
            return True
        return False

    def _call_next_thread(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_busy = False

    def _wait_for_processes(self) -> None:
        file = self._descriptor()
        fcntl.lockf(file, fcntl.LOCK_EX, 1, _ENTRANCE)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX, 1, _TURN)
        finally:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, _ENTRANCE)

    def _descriptor(self) -> int:
        """The queue's file, next to the database; never closed, as that would end the turn."""
        if self._file is None:
            path = self._database.with_name(f"{self._database.name}-queue")
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            _give_to_owner_of(self._database, self._file)
        return self._file


def _give_to_owner_of(database: Path, file: int) -> None:
    """Let the database's owner queue too, if an administrator's command created the file."""
    if os.geteuid() == 0:
        owner = database.stat()
        os.fchown(file, owner.st_uid, owner.st_gid)


_queues: dict[Path, WriterQueue] = {}
_creating = threading.Lock()


def queue_of(database: Path, *, timeout: float) -> WriterQueue:
    """The queue of a database file; one for all connections of this process."""
    with _creating:
        if database not in _queues:
            _queues[database] = WriterQueue(database, timeout=timeout)
        return _queues[database]
