"""One event loop in a background thread, with one client and one limiter per endpoint.

Worker threads hand their questions to it and wait. A loop per task would open its connections
anew every time and leave the slots idle at the end of every chunk.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, TypeVar

from judging.engine.limits import Limiter, Limits
from judging.engine.protocol import Backend

T = TypeVar("T")


class EngineLoop:
    """Runs until `stop`; all its methods but `stop` may be called from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._endpoints: dict[Hashable, tuple[Backend, Limiter]] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="judging-engine", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def endpoint(
        self, key: Hashable, make: Callable[[], Backend], limits: Limits
    ) -> tuple[Backend, Limiter]:
        """The backend and limiter known as `key`, made by `make` when there is none yet.

        Whoever shares the key shares slots, rates and pauses. Changed limits are taken over.
        """
        with self._lock:
            if key not in self._endpoints:
                self._endpoints[key] = (make(), Limiter(limits))
            backend, limiter = self._endpoints[key]
            if limiter.limits != limits:
                self._loop.call_soon_threadsafe(limiter.set_limits, limits)
            return backend, limiter

    def stop(self) -> None:
        """Close the clients and end the thread; what is under way is cancelled."""

        async def close() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            for backend, _ in self._endpoints.values():
                await backend.close()

        self.submit(close()).result(timeout=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()
