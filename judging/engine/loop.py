"""One event loop in a background thread, and how its limiters share with other processes.

The processes share one small document for each endpoint, in Redis or in the database. Twice a
second, more often after it began to ask, and immediately when it wants something or gives slots
back, each of them exchanges a report for a grant; a single request exchanges nothing. `grant_for`
is the whole rule: the store only has to apply it to the document while no other process does.

The sum of all grants never exceeds the limits: a process holds slots until it gives them back or
sends no report for a while, and requests and tokens per minute are drawn in advance from buckets
that all processes share.

Worker threads pass their questions to it and wait. A loop per task would open new connections
every time and leave the slots idle at the end of every chunk.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar

from judging.engine.interface import Backend
from judging.engine.limits import BURST_SECONDS, Grant, LimitReport, RateLimits, tightest_of
from judging.engine.rate_limits import Limiter

logger = logging.getLogger(__name__)

EXCHANGE_SECONDS = 0.5
# After it began to ask: a process that was alone holds every slot, and does not yet know of others.
_FIRST_EXCHANGE_SECONDS = 0.05
SILENT_SECONDS = 10.0  # without a report; then a process counts as dead and its slots are free
_RETRY_SECONDS = 1.0

Document = dict[str, Any]


class CoordinationFailed(Exception):
    """The store did not answer; earlier grants stay valid."""


# Blocks while it waits for the store. Raises `CoordinationFailed`.
Exchange = Callable[[LimitReport], Grant]


def grant_for(document: Document, member: str, report: LimitReport, *, now: float) -> Grant:
    """Enter the report of `member` into `document` and return its grant; `now` is in seconds."""
    members: dict[str, Any] = document.setdefault("members", {})
    for name in [n for n, m in members.items() if now - m["seen"] > SILENT_SECONDS]:
        del members[name]
    slots = 0
    if report.wanted:
        mine = members.setdefault(member, {"slots": 0})
        mine |= {"wanted": report.wanted, "seen": now}
        slots = _slots(members, member, report.limits.concurrency)
        # Until its next report, everything that it holds when it receives a smaller grant counts.
        mine["slots"] = max(slots, report.held)
    else:
        members.pop(member, None)
    if report.has_cut:
        document["cuts"] = document.get("cuts", 0) + 1
    if report.pause is None:
        document["resume_at"] = 0.0
    else:
        document["resume_at"] = max(document.get("resume_at", 0.0), now + report.pause)
    sharers = max(1, len(members))
    rates = report.limits
    return Grant(
        slots=slots,
        requests=_draw(document, "requests", rates.rpm, now, report.requests, 1.0, sharers),
        tokens=_draw(
            document, "tokens", rates.tpm, now, report.tokens, report.first_tokens, sharers
        ),
        pause=max(0.0, document["resume_at"] - now),
        cuts=document.get("cuts", 0),
    )


def _slots(members: dict[str, Any], member: str, total: int) -> int:
    """A fair number of slots plus unwanted ones, from those that no other process holds."""
    shares = fair_slots({name: m["wanted"] for name, m in members.items()}, total)
    held_by_others: int = sum(m["slots"] for name, m in members.items() if name != member)
    fair = shares[member] + total - sum(shares.values())
    return max(0, min(fair, total - held_by_others))


def fair_slots(wanted: dict[str, int], total: int) -> dict[str, int]:
    """Split `total` fairly: nobody gets more than wanted; those who want more get equal parts."""
    shares: dict[str, int] = {}
    left = total
    for name in sorted(wanted, key=lambda name: (wanted[name], name)):
        shares[name] = min(wanted[name], -(-left // (len(wanted) - len(shares))))
        left -= shares[name]
    return shares


def _draw(
    document: Document,
    name: str,
    per_minute: int | None,
    now: float,
    wanted: float,
    at_least: float,
    sharers: int,
) -> float:
    """Take from a common bucket, at most an equal part of its contents.

    A single request can overdraw the bucket; then nobody gets anything until it is refilled.
    """
    if per_minute is None or wanted <= 0:
        return 0.0
    each = 60.0 / per_minute
    free_at = max(document.get(name, 0.0), now)
    room = (BURST_SECONDS - (free_at - now)) / each
    if room < 0:
        return 0.0
    amount = min(wanted, max(at_least, float(int(room / sharers))))
    document[name] = free_at + amount * each
    return amount


async def keep_coordinating(limiter: Limiter, exchange: Exchange, executor: Executor) -> None:
    """Exchange reports for grants as long as requests wait or are under way; ends by
    cancellation."""
    loop = asyncio.get_running_loop()
    pause = _FIRST_EXCHANGE_SECONDS
    while True:
        busy = limiter.is_busy
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(limiter.news.wait(), pause if busy else None)
        pause = min(EXCHANGE_SECONDS, 2 * pause) if busy else _FIRST_EXCHANGE_SECONDS
        limiter.news.clear()
        report = limiter.report()
        try:
            grant = await loop.run_in_executor(executor, exchange, report)
        except Exception as error:
            # Any error: if this task ended, everybody would wait for a grant forever.
            is_known = isinstance(error, CoordinationFailed)
            logger.warning(
                "The limits could not be shared, trying again: %s",
                error,
                exc_info=None if is_known else error,
            )
            limiter.restore(report)
            await asyncio.sleep(_RETRY_SECONDS)
            limiter.news.set()
            continue
        limiter.take(grant, report)


T = TypeVar("T")


@dataclass
class _Endpoint:
    limiter: Limiter
    limits: dict[Hashable, RateLimits]  # of each judge that is asked here


class EngineLoop:
    """The loop, which runs until `stop`; any thread can call its methods except `stop`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._backends: dict[Hashable, Backend] = {}
        self._endpoints: dict[Hashable, _Endpoint] = {}
        self._lock = threading.Lock()
        # Exchanges with other processes wait for a store, and the loop must not wait.
        self.executor = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="sharing")
        self._thread = threading.Thread(target=self._run, name="judging-engine", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
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
        """Close the clients and end the thread; cancel what is under way."""

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
