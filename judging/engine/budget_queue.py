"""Waiting for room in a budget, without a slot that others could use."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

# Room may also come of what another process, or another run of a campaign, has ended.
_RETRY_SECONDS = 0.5


class Line:
    """Those questions of a run that its budget has no room for now: the first of them tries again
    whenever a request of the run has ended, the others wait behind it."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._news = asyncio.Event()

    def tell(self) -> None:
        """A request has ended: there may be room."""
        self._news.set()

    @asynccontextmanager
    async def first(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Come to the front; what is given then waits until there may be room."""
        async with self._turn:
            yield self._wait

    async def _wait(self) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._news.wait(), _RETRY_SECONDS)
        self._news.clear()
