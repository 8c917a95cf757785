"""The backend: every write transaction, and every single write, waits for its turn in the queue."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base

from config.sqlite.queue import WriterQueue, queue_of

_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLAC"})
_DEFAULT_TIMEOUT = 5.0


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that queues before BEGIN and leaves the queue with COMMIT or ROLLBACK.

    The stubs of Django's backend do not know the methods that start and end a transaction.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._queue: WriterQueue | None = None
        self._has_turn = False
        self.execute_wrappers.append(_in_turn)

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        if not self.is_in_memory_db():
            database = Path(conn_params["database"]).absolute()
            timeout = conn_params.get("timeout", _DEFAULT_TIMEOUT)
            self._queue = queue_of(database, timeout=timeout)
        return super().get_new_connection(conn_params)

    def take_turn(self) -> bool:
        """Wait for the turn to write; False if this connection has it already or needs none."""
        if self._has_turn or self._queue is None:
            return False
        self._queue.enter()
        self._has_turn = True
        return True

    def end_turn(self) -> None:
        if self._has_turn and self._queue is not None:
            self._has_turn = False
            self._queue.leave()

    def _start_transaction_under_autocommit(self) -> None:
        self.take_turn()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self.end_turn()
            raise

    def _commit(self) -> None:
        # After an error Django rolls back or closes the connection.
        super()._commit()  # type: ignore[misc]
        self.end_turn()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self.end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self.end_turn()


def _in_turn(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    """Let a write outside of a transaction wait for its turn too; reads never wait."""
    connection: DatabaseWrapper = context["connection"]
    is_write = not connection.in_atomic_block and sql[:6].upper() in _WRITES
    if not (is_write and connection.take_turn()):
        return execute(sql, params, many, context)
    try:
        return execute(sql, params, many, context)
    finally:
        connection.end_turn()
