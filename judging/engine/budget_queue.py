"""Waiting for room in a budget, without occupying a slot that others could use."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

# Requests of other processes, and of other runs of a campaign, also free room when they end.
_RETRY_SECONDS = 0.5


class BudgetQueue:
    """The questions of a run that currently have no room in its budget.

    The first of them tries again whenever a request of the run has ended; the others wait.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._ended_request = asyncio.Event()

    def notify(self) -> None:
        """Report that a request has ended, so that there may be room."""
        self._ended_request.set()

    @asynccontextmanager
    async def front(self) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Wait for the first position, and yield a function that waits until there may be room."""
        async with self._turn:
            yield self._wait

    async def _wait(self) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ended_request.wait(), _RETRY_SECONDS)
        self._ended_request.clear()
