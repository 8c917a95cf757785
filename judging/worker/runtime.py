"""Singletons of a judging process: the engine's loop, shared limits, the writer."""

import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from judging.engine.asker import Asker, Route
from judging.engine.interface import AttemptLedger, Backend, BudgetQueue, RequestWatch
from judging.engine.limits import Grant, LimitReport
from judging.engine.loop import CoordinationFailed, Document, EngineLoop, Exchange, grant_for
from judging.errors import BadJudge, DatabaseAway, JudgingError
from judging.models import Judge, SharedLimit
from judging.worker import ledger_statements
from judging.worker.endpoints import backend_key, backend_maker, endpoint_of, limits_of
from judging.worker.ledger import RETRY_SECONDS, Writer
from studies.statements import clock

if TYPE_CHECKING:
    from redis import Redis


_FORGET_SECONDS = 3600
_TRIES = 20


def exchange(endpoint: str) -> Exchange:
    """The function by which this process exchanges its reports about an endpoint for grants."""
    has_redis = settings.CELERY_BROKER_URL.startswith(("redis://", "rediss://"))
    store = _in_redis if has_redis else _in_database

    def take_part(report: LimitReport) -> Grant:
        return store(endpoint, _member(os.getpid()), report)

    return take_part


@cache
def _member(pid: int) -> str:
    """A unique name of this process over all machines; a fork gets its own."""
    return f"{pid}-{secrets.token_hex(8)}"


def _in_database(endpoint: str, member: str, report: LimitReport) -> Grant:
    try:
        SharedLimit.objects.get_or_create(endpoint=endpoint)
        with transaction.atomic():
            shared = SharedLimit.objects.select_for_update(no_key=True).get(endpoint=endpoint)
            grant = grant_for(shared.document, member, report, now=clock.now().timestamp())
            shared.save(update_fields=["document"])
    except (DatabaseError, InterfaceError) as error:
        connection.close()
        raise CoordinationFailed(f"the database says: {error}") from error
    return grant


@cache
def _redis(pid: int) -> "Redis":
    from redis import Redis

    return Redis.from_url(
        settings.CELERY_BROKER_URL, socket_timeout=5.0, socket_connect_timeout=5.0
    )


def _in_redis(endpoint: str, member: str, report: LimitReport) -> Grant:
    """Read, grant, write; repeat if another process wrote in between."""
    from redis.exceptions import RedisError, WatchError

    key = f"thirdperson:limits:{endpoint}"
    # An unused client closes its connections: another thread may have stored its own first.
    client = _redis(os.getpid())
    try:
        with client.pipeline() as pipe:
            for _ in range(_TRIES):
                pipe.watch(key)
                seconds, microseconds = pipe.time()
                raw = pipe.get(key)
                document: Document = json.loads(raw) if raw else {}
                grant = grant_for(document, member, report, now=seconds + microseconds / 1e6)
                pipe.multi()
                pipe.set(key, json.dumps(document), ex=_FORGET_SECONDS)
                try:
                    pipe.execute()
                except WatchError:
                    continue
                return grant
    except RedisError as error:
        raise CoordinationFailed(f"Redis says: {error}") from error
    raise CoordinationFailed(f"others changed the limits {_TRIES} times in between")


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
            exchange(endpoint) if is_shared else None,
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


T = TypeVar("T")
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
