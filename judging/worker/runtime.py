"""What a process that judges has once: the engine's loop and the writer."""

import threading
from dataclasses import dataclass

from django.db import connection

from judging.engine.asking import Asker
from judging.engine.budget_queue import BudgetQueue
from judging.engine.interface import Backend
from judging.engine.loop import EngineLoop
from judging.models import Judge
from judging.worker import ledger, shared_rate_limits
from judging.worker.endpoints import backend_key, backend_maker, endpoint_of, limits_of
from judging.worker.writer import Writer


@dataclass(frozen=True)
class _Runtime:
    loop: EngineLoop
    writer: Writer


_lock = threading.Lock()
_runtime: _Runtime | None = None
_stopping = threading.Event()
_budget_queues: dict[int, BudgetQueue] = {}  # of the runs, by their ids


def get() -> _Runtime:
    """Start loop and writer with the first use, in the process that uses them."""
    global _runtime
    with _lock:
        if _runtime is None:
            _stopping.clear()
            _runtime = _Runtime(EngineLoop(), Writer(ledger.apply, ledger.apply_again))
        return _runtime


def budget_queue_of(run_id: int) -> BudgetQueue:
    """Where the questions of a run wait for room in its budget."""
    get()
    with _lock:
        return _budget_queues.setdefault(run_id, BudgetQueue())


def stop_asking() -> None:
    """Send nothing more; what is in flight is still stored. For a worker that ends."""
    _stopping.set()


def is_stopping() -> bool:
    return _stopping.is_set()


def sleep(seconds: float) -> None:
    """Sleep, but not after the process has begun to end."""
    _stopping.wait(seconds)


def shut_down() -> None:
    """End loop and writer, and close what they hold open."""
    global _runtime
    with _lock:
        runtime, _runtime = _runtime, None
        _budget_queues.clear()  # they belong to the loop that ends
    if runtime is not None:
        runtime.loop.stop()
        # Looked up in the thread that opened it: every thread has a connection of its own.
        runtime.loop.executor.submit(lambda: connection.close())
        runtime.loop.executor.shutdown()
        runtime.writer.stop()


def asker(judge: Judge, run_ledger: ledger.RunLedger) -> Asker:
    """An asker that shares backend and limiter with all users of the endpoint.

    Raises `BadJudge` if the judge cannot be asked, for example without a key.
    """
    endpoint = endpoint_of(judge)
    is_shared = judge.capabilities.needs_endpoint
    return Asker(
        backend=backend_of(judge),
        limiter=get().loop.limiter(
            endpoint,
            backend_key(judge),
            limits_of(judge),
            shared_rate_limits.exchange(endpoint) if is_shared else None,
        ),
        ledger=run_ledger,
    )


def backend_of(judge: Judge) -> Backend:
    """The backend of all who ask alike, with what it has learnt about its server."""
    return get().loop.backend(backend_key(judge), backend_maker(judge))
