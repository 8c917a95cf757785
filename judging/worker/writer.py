"""One thread writes the rows of a process: the engine's loop must not use the ORM.

A transaction per row would be most of the work. So rows that arrive during a commit, and if few
shortly after it, are committed together.
"""

import asyncio
import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import InterfaceError, OperationalError, connection

from judging.engine.interface import LedgerFailed

logger = logging.getLogger(__name__)

FEW = 16
GATHER_SECONDS = 0.005
MOST = 500  # in one transaction
# The longest wait for a database that restarts.
RETRY_SECONDS = 60.0

# Applies rows in one transaction; returns the reason of refusal for each, or None.
Apply = Callable[[Sequence[Any]], list[Exception | None]]


@dataclass(slots=True)
class _WriterEntry:
    row: Any
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]


class Writer:
    def __init__(self, apply: Apply, apply_again: Apply | None = None) -> None:
        """`apply_again` is for rows that may have been committed when a connection broke."""
        self._apply = apply
        self._apply_again = apply_again or apply
        self._queue: queue.SimpleQueue[_WriterEntry | None] = queue.SimpleQueue()
        self._ended = False
        self._ending = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="judging-writer", daemon=True)
        self._thread.start()

    async def write(self, row: Any) -> None:
        """Return when `row` is committed. Raises the reason of a refusal, or `LedgerFailed`."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        with self._ending:
            if self._ended:
                raise LedgerFailed("The ledger's writer has ended.")
            self._queue.put(_WriterEntry(row, loop, future))
        await future

    def stop(self) -> None:
        """Write what is queued, close the connection and end."""
        self._queue.put(None)
        self._thread.join(timeout=30)

    def _run(self) -> None:
        try:
            running = True
            while running:
                batch, running = self._gather()
                if batch:
                    self._write(batch)
        finally:
            connection.close()
            self._refuse_the_rest()

    def _refuse_the_rest(self) -> None:
        """Refuse waiting rows, so that nobody waits for an ended writer."""
        with self._ending:
            self._ended = True
        while True:
            try:
                entry = self._queue.get_nowait()
            except queue.Empty:
                return
            if entry is not None:
                _answer([entry], [LedgerFailed("The ledger's writer has ended.")])

    def _gather(self) -> tuple[list[_WriterEntry], bool]:
        """Collect all waiting rows, after a delay if few; also return whether more may come."""
        batch: list[_WriterEntry] = []
        deadline = math.inf
        while len(batch) < MOST:
            try:
                wait = 0.0 if len(batch) >= FEW else max(0.0, deadline - time.monotonic())
                entry = self._queue.get(timeout=wait if batch else None)
            except queue.Empty:
                break
            if entry is None:
                return batch, False
            if not batch:
                deadline = time.monotonic() + GATHER_SECONDS
            batch.append(entry)
        return batch, True

    def _write(self, batch: list[_WriterEntry]) -> None:
        deadline = time.monotonic() + RETRY_SECONDS
        pause = 0.1
        apply = self._apply
        while True:
            try:
                _answer(batch, apply([entry.row for entry in batch]))
                return
            except (OperationalError, InterfaceError) as error:
                # A lock held for long, or a restart of the database, which may have committed the
                # rows and stopped before it could confirm that.
                connection.close()
                apply = self._apply_again
                if time.monotonic() > deadline:
                    logger.error("The ledger could not be written: %s", error)
                    self._refuse(batch, error)
                    return
                logger.warning("The ledger could not be written, trying again: %s", error)
                time.sleep(pause)
                pause = min(5.0, pause * 2)
            except Exception as error:
                # Report any error to those waiting, and continue. A row that the tables or the
                # driver refuse must not affect others.
                logger.exception("The ledger refused rows.")
                if len(batch) == 1:
                    self._refuse(batch, error)
                    return
                for entry in batch:
                    self._write([entry])
                return

    def _refuse(self, batch: list[_WriterEntry], error: Exception) -> None:
        _answer(batch, [LedgerFailed(str(error)) for _ in batch])


def _answer(batch: list[_WriterEntry], refusals: Sequence[Exception | None]) -> None:
    """Wake all waiting calls with one call per loop, because each is a system call."""
    pairs = list(zip(batch, refusals, strict=True))
    for loop in {entry.loop for entry in batch}:
        mine = [(entry.future, refusal) for entry, refusal in pairs if entry.loop is loop]
        try:
            loop.call_soon_threadsafe(_resolve, mine)
        except RuntimeError:  # the loop was stopped, so nobody waits any more
            logger.debug("The engine's loop ended before its rows were acknowledged.")


def _resolve(pairs: list[tuple[asyncio.Future[None], Exception | None]]) -> None:
    for future, refusal in pairs:
        if future.done():
            continue
        if refusal is None:
            future.set_result(None)
        else:
            future.set_exception(refusal)
