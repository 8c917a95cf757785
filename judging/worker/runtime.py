"""Objects that exist once in a process that judges: the engine's loop and the writer."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection

from judging.engine.asking import Asker
from judging.engine.budget_queue import BudgetQueue
from judging.engine.interface import AttemptLedger, Backend
from judging.engine.loop import EngineLoop
from judging.engine.routes import Route
from judging.errors import BadJudge, JudgingError
from judging.models import Judge
from judging.worker import shared_rate_limits
from judging.worker.endpoints import backend_key, backend_maker, endpoint_of, limits_of
from judging.worker.records import ledger
from judging.worker.records.writer import Writer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Runtime:
    loop: EngineLoop
    writer: Writer


_lock = threading.Lock()
_runtime: _Runtime | None = None
_stopping = threading.Event()
_budget_queues: dict[int, BudgetQueue] = {}  # of the runs, by their ids


def get() -> _Runtime:
    """Start loop and writer at the first use, in the process that uses them."""
    global _runtime
    with _lock:
        if _runtime is None:
            _stopping.clear()
            _runtime = _Runtime(EngineLoop(), Writer(ledger.apply, ledger.apply_again))
        return _runtime


def budget_queue_of(run_id: int) -> BudgetQueue:
    """The queue in which questions of a run wait for room in its budget."""
    get()
    with _lock:
        return _budget_queues.setdefault(run_id, BudgetQueue())


def stop_asking() -> None:
    """Stop sending requests, for a worker that ends; requests in flight are still stored."""
    _stopping.set()


def is_stopping() -> bool:
    return _stopping.is_set()


def sleep(seconds: float) -> None:
    """Sleep, or return immediately once the process has begun to end."""
    _stopping.wait(seconds)


def shut_down() -> None:
    """End loop and writer, and close their connections."""
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
    # What failed in one run must not stop the next one in this process.
    _stopping.clear()


def asker(judge: Judge, its_ledger: AttemptLedger, *, has_answered: bool = False) -> Asker:
    """An asker that shares backends and limiters with all users of the endpoints.

    Raises `BadJudge` if the judge cannot be asked, for example without a key.
    """
    return Asker(
        routes=[_route(judge, address) for address in judge.base_urls],
        ledger=its_ledger,
        has_answered=has_answered,
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
            shared_rate_limits.exchange(endpoint) if is_shared else None,
        ),
    )


def connect(judge: Judge) -> None:
    """Load what is needed to ask a judge. Raises `BadJudge` if it cannot be asked."""
    for address in judge.base_urls:
        backend_of(judge, address)


def backend_of(judge: Judge, address: str = "") -> Backend:
    """The backend for all judges with equal settings, with what it has learned about its server."""
    with client_of(judge):
        return get().loop.backend(backend_key(judge, address), backend_maker(judge, address))


@contextmanager
def client_of(judge: Judge) -> Iterator[None]:
    """Make a judge's client. Raises `BadJudge` whatever the reason why it cannot be made.

    A worker that raised anything else would leave the run queued for ever.
    """
    try:
        yield
    except JudgingError:
        raise
    except Exception as error:
        logger.exception("The client of judge %s could not be made.", judge.pk)
        raise BadJudge(
            f"Judge “{judge.name}” cannot be asked from here: its client could not be made. The "
            "log of this process says why. Check the judge's address, and in the environment the "
            "settings of proxies (such as HTTPS_PROXY) and of certificates (SSL_CERT_FILE)."
        ) from error
