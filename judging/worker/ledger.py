"""The ledger of a run in the database: attempts before they are sent, answers on arrival.

One thread writes for the whole process. The engine's loop must not use the ORM, and a transaction
per row would be most of the work. So rows that arrive during a commit, and if few shortly after it,
are committed together.
"""

import asyncio
import json
import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import InterfaceError, OperationalError, connection

from judging.engine.interface import (
    AttemptEnd,
    BudgetInUse,
    BudgetQueue,
    Halted,
    JudgeAnswer,
    JudgeQuestion,
    LedgerFailed,
    Outcome,
    Parameters,
    Stopped,
    Usage,
)
from judging.models import JudgeRun
from judging.worker.budgets import Prices, length_in_bytes, most_of, price
from judging.worker.endpoints import reply_limit
from judging.worker.ledger_statements import Closing, Opening
from studies.models import Choice, Side
from studies.statements import clock

logger = logging.getLogger(__name__)

FEW = 16
GATHER_SECONDS = 0.005
MOST = 500  # in one transaction
# The longest wait for a database that restarts.
RETRY_SECONDS = 60.0

# Applies rows in one transaction; returns the reason of refusal for each, or None.
Apply = Callable[[Sequence[Any]], list[Exception | None]]


class RunLedger:
    """`engine.interface.AttemptLedger` of one leased chunk of a run."""

    def __init__(
        self,
        *,
        writer: "Writer",
        rows: "LedgerRows",
        budget_queue: BudgetQueue,
        is_stopping: Callable[[], bool],
    ) -> None:
        self.budget_queue = budget_queue
        self._writer = writer
        self._rows = rows
        self._is_stopping = is_stopping
        self._under_way: dict[int, float] = {}  # since when, by question

    @property
    def oldest(self) -> float | None:
        """The start of the oldest request under way; None if there is none."""
        return min(self._under_way.copy().values(), default=None)

    async def open(self, question: JudgeQuestion, number: int, parameters: Parameters) -> None:
        if self._is_stopping():
            raise Halted("The worker is shutting down.")
        self._under_way[question.id] = time.monotonic()
        try:
            await self._writer.write(self._rows.opening(question, number, parameters))
        except (Stopped, BudgetInUse, LedgerFailed):
            del self._under_way[question.id]  # nothing is sent
            raise

    async def close(
        self,
        question: JudgeQuestion,
        number: int,
        end: AttemptEnd,
        replies: int,
        outcome: Outcome,
    ) -> None:
        await self._writer.write(self._rows.closing(question, number, end, replies, outcome))
        self._under_way.pop(question.id, None)
        self.budget_queue.notify()


class LedgerRows:
    """Creates rows for the questions of one lease, with the judge's prices and the budget's room.

    `price_share` is the part of the price that these requests cost.
    """

    def __init__(
        self,
        run: JudgeRun,
        lease: str,
        sides: Mapping[int, str],
        *,
        price_share: Decimal = Decimal(1),
    ) -> None:
        judge = run.judge
        self._run_id, self._study_id, self._lease = run.pk, run.study_id, lease
        self._sides = sides
        self._freezes = run.study.frozen_at is None  # saves a query per batch later
        self._room, self._thinks = reply_limit(judge), judge.thinking_tokens > 0
        self._prices = Prices.of(judge, price_share)

    def opening(self, question: JudgeQuestion, number: int, parameters: Parameters) -> Opening:
        most = self.most(question)
        return Opening(
            self._run_id,
            question.id,
            number,
            clock.now(),
            price(self._prices, most),
            most,
            parameters if parameters.values else None,
            self._lease,
        )

    def closing(
        self,
        question: JudgeQuestion,
        number: int,
        end: AttemptEnd,
        replies: int,
        outcome: Outcome,
    ) -> Closing:
        usage, is_estimate = end.usage, False
        if usage is None and end.maybe_billed:
            is_estimate = True
            usage = self._guess(question, end.text) if end.text else self.most(question)
        contents = contents_of(self._sides[question.id])
        answer = outcome if isinstance(outcome, JudgeAnswer) else None
        following = outcome if isinstance(outcome, JudgeQuestion) else None
        earlier = (following or question).earlier
        details = _by_response(answer.details, contents) if answer else None
        sides = (following or question).probabilities
        if answer and answer.probabilities is not None:
            sides = answer.probabilities
        return Closing(
            run_id=self._run_id,
            study_id=self._study_id,
            judgment_id=question.id,
            lease=self._lease,
            number=number,
            end=end,
            usage=usage,
            usage_is_estimate=is_estimate,
            cost_nano=price(self._prices, usage),
            replies=0 if following else replies,
            answer=answer,
            choice=contents[answer.side] if answer and answer.side else "",
            probabilities=_probabilities(sides, contents),
            details=json.dumps(details) if details else None,
            earlier=json.dumps(earlier) if earlier else None,
            freezes=self._freezes,
        )

    def most(self, question: JudgeQuestion) -> Usage:
        return most_of(question, reply_tokens=self._room)

    def _guess(self, question: JudgeQuestion, text: str) -> Usage:
        """The highest possible usage of a reply without reported usage."""
        most = self.most(question)
        if self._thinks:  # thinking does not show in the reply's text
            return most
        return Usage(most.prompt_tokens, min(self._room, length_in_bytes(text) + 1))


def contents_of(shown_first: str) -> dict[str, str]:
    """The responses behind the prompt's letters."""
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return {"A": str(shown_first), "B": str(second), "C": str(Choice.TIE)}


def _probabilities(
    probabilities: Mapping[Any, float] | None, contents: Mapping[str, str]
) -> str | None:
    if probabilities is None:
        return None
    return json.dumps({contents[side]: share for side, share in probabilities.items()})


def _by_response(details: Any, contents: Mapping[str, str]) -> Any:
    """Details of an answer, with responses in place of the prompt's letters, as keys and values."""
    if isinstance(details, Mapping):
        return {contents.get(key, key): _by_response(of, contents) for key, of in details.items()}
    return contents.get(details, details) if isinstance(details, str) else details


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
