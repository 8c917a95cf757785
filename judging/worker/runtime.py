"""What a judging process has once: the event loop that asks, shared limits, the ledger's writer."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connection

from judging.engine.asker import Asker, Route
from judging.engine.interface import AttemptLedger, Backend, BudgetQueue, RequestWatch
from judging.engine.limits import RateLimits, tightest_of
from judging.engine.rate_limits import Limiter
from judging.errors import BadJudge, DatabaseAway, JudgingError
from judging.models import Judge
from judging.worker import ledger_statements
from judging.worker.endpoints import backend_key, backend_maker, endpoint_of, limits_of
from judging.worker.shared_limits import Exchange, exchange_for, keep_coordinating
from judging.worker.unread import AnswerCounts
from judging.worker.writer import RETRY_SECONDS, Writer

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass
class _Endpoint:
    limiter: Limiter
    limits: dict[Hashable, RateLimits]  # of each judge that is asked here


class EngineLoop:
    """One event loop in a background thread, to which worker threads pass their questions.

    A loop per task would open new connections every time and leave the slots idle at the end of
    every chunk. It runs until `stop`; any thread can call its methods except `stop`.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._backends: dict[Hashable, Backend] = {}
        self._endpoints: dict[Hashable, _Endpoint] = {}
        self._lock = threading.Lock()
        # Exchanges wait for a store, and the loop must not block.
        self.executor = ThreadPoolExecutor(1, thread_name_prefix="sharing")
        self._thread = threading.Thread(target=self._run, name="judging-engine", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def backend(self, key: Hashable, make: Callable[[], Backend]) -> Backend:
        """Return the backend known as `key`; `make` creates it if there is none yet."""
        with self._lock:
            if key not in self._backends:
                self._backends[key] = make()
            return self._backends[key]

    def limiter(
        self,
        address: Hashable,
        judge: Hashable,
        limits: RateLimits,
        exchange: Exchange | None = None,
    ) -> Limiter:
        """Return the limiter of an endpoint, whose slots, rates and pauses all its judges share.

        If its judges have different limits, the tighter ones hold; changed limits are applied.
        With `exchange`, other processes share them too.
        """
        with self._lock:
            if address not in self._endpoints:
                limiter = Limiter(limits, is_shared=exchange is not None)
                self._endpoints[address] = _Endpoint(limiter, {})
                if exchange is not None:
                    self.submit(keep_coordinating(limiter, exchange, self.executor))
            endpoint = self._endpoints[address]
            endpoint.limits[judge] = limits
            tightest = tightest_of(endpoint.limits.values())
            if endpoint.limiter.limits != tightest:
                self._loop.call_soon_threadsafe(endpoint.limiter.set_limits, tightest)
            return endpoint.limiter

    def stop(self) -> None:
        """Close the clients and end the thread, cancelling requests in progress."""

        async def close() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            for backend in self._backends.values():
                await backend.close()

        self.submit(close()).result(timeout=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()


@dataclass(frozen=True)
class _Runtime:
    loop: EngineLoop
    writer: Writer


_lock = threading.Lock()
_runtime: _Runtime | None = None
_stopping = threading.Event()
_budget_queues: dict[int, BudgetQueue] = {}  # of the runs, by their ids
_answer_counts: dict[int, AnswerCounts] = {}  # likewise


def get() -> _Runtime:
    """Start loop and writer at first use, in the process that uses them."""
    global _runtime
    with _lock:
        if _runtime is None:
            _stopping.clear()
            _runtime = _Runtime(
                EngineLoop(), Writer(ledger_statements.apply, ledger_statements.apply_again)
            )
        return _runtime


def budget_queue_of(run_id: int) -> BudgetQueue:
    """The queue in which questions of a run wait for room in its budget."""
    get()
    with _lock:
        return _budget_queues.setdefault(run_id, BudgetQueue())


def answer_counts_of(run_id: int) -> AnswerCounts:
    """The counts of a run's answers that its chunks in this process share."""
    with _lock:
        if run_id not in _answer_counts:
            _answer_counts[run_id] = AnswerCounts(run_id)
        return _answer_counts[run_id]


def stop_asking() -> None:
    """Stop sending requests, for a worker that ends; requests in flight are still stored."""
    _stopping.set()


def is_stopping() -> bool:
    return _stopping.is_set()


def sleep(seconds: float) -> None:
    """Sleep, or return immediately once the process is ending."""
    _stopping.wait(seconds)


def shut_down() -> None:
    """End loop and writer, and close their connections."""
    global _runtime
    with _lock:
        runtime, _runtime = _runtime, None
        _budget_queues.clear()  # they belong to the loop that ends
        _answer_counts.clear()
    if runtime is not None:
        runtime.loop.stop()
        # Looked up in the thread that opened it: every thread has a connection of its own.
        runtime.loop.executor.submit(lambda: connection.close())
        runtime.loop.executor.shutdown()
        runtime.writer.stop()
    # A failure in one run must not stop the next one in this process.
    _stopping.clear()


def asker(
    judge: Judge,
    its_ledger: AttemptLedger,
    *,
    has_answered: bool = False,
    watches: Sequence[RequestWatch] = (),
) -> Asker:
    """An asker that shares backends and limiters with all users of the endpoints.

    Raises `BadJudge` if the judge cannot be asked, for example without a key.
    """
    return Asker(
        routes=[_route(judge, address) for address in judge.base_urls],
        ledger=its_ledger,
        has_answered=has_answered,
        watches=watches,
    )


def _route(judge: Judge, address: str) -> Route:
    endpoint = endpoint_of(judge, address)
    is_shared = judge.capabilities.needs_endpoint
    return Route(
        backend=backend_of(judge, address),
        limiter=get().loop.limiter(
            endpoint,
            backend_key(judge, address),
            limits_of(judge),
            exchange_for(endpoint) if is_shared else None,
        ),
    )


def connect(judge: Judge) -> None:
    """Load everything needed to ask a judge. Raises `BadJudge` if it cannot be asked."""
    for address in judge.base_urls:
        backend_of(judge, address)


def backend_of(judge: Judge, address: str = "") -> Backend:
    """The backend for all judges with equal settings, with what it has learned about its server."""
    with client_of(judge):
        return get().loop.backend(backend_key(judge, address), backend_maker(judge, address))


@contextmanager
def client_of(judge: Judge) -> Iterator[None]:
    """Make a judge's client.

    Raises `BadJudge` for any failure. Any other exception in a worker would leave the run queued
    for ever.
    """
    try:
        yield
    except JudgingError:
        raise
    except Exception as error:
        logger.exception("The client of judge %s could not be made.", judge.pk)
        raise BadJudge(
            f"Judge “{judge.name}” cannot be asked from here, because its client could not be "
            "made. The log of this process has the reason. Check the judge's address, and the "
            "environment's settings of proxies (such as HTTPS_PROXY) and of certificates "
            "(SSL_CERT_FILE)."
        ) from error


_PAUSE = 1.0


def outlive_restart(step: Callable[[], T]) -> T:
    """The result of `step`, repeated while the database does not answer.

    Raises `DatabaseAway` after a minute, and immediately if the process is ending.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return step()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            if is_stopping() or time.monotonic() > deadline:
                raise DatabaseAway(
                    f"The database does not answer: {str(error).strip()}. All answers so far are "
                    "stored. To continue, repeat the command."
                ) from error
            sleep(_PAUSE)
