"""One event loop in a background thread, with one client and one limiter per endpoint.

Worker threads pass their questions to it and wait. A loop per task would open new connections
every time and leave the slots idle at the end of every chunk.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from judging.engine.interface import Backend
from judging.engine.limits import RateLimits, tightest_of
from judging.engine.rate_limit_coordination import Exchange, keep_coordinating
from judging.engine.rate_limits import Limiter

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
