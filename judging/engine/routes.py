"""The addresses of a judge: a request goes to one that has a slot; one that fails is left out.

Every address has a limiter of its own, with its own slots, rates and pauses. A judge with one
address behaves as if there were no routes: the limiter decides alone.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from judging.engine.interface import Backend, Outage
from judging.engine.rate_limits import Limiter, Permit


@dataclass(frozen=True, slots=True)
class Route:
    """One address: what asks there, and what decides when."""

    backend: Backend
    limiter: Limiter


class Routes:
    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = list(routes)

    @property
    def limiters(self) -> list[Limiter]:
        return [route.limiter for route in self._routes]

    @property
    def moved_at(self) -> float:
        """When a request was last sent to any of them, or a grant arrived."""
        return max(route.limiter.moved_at for route in self._routes)

    def others_answer(self, route: Route) -> bool:
        """Whether an address other than this one is not left out."""
        return any(r is not route and not r.limiter.is_left_out for r in self._routes)

    async def acquire(self, tokens: int, *, had_outage: bool) -> tuple[Route, Permit]:
        """Wait for a slot at any address. Raises `Outage` if all of them are given up.

        `had_outage`: the question was asked at an address that was given up meanwhile. Other
        questions try addresses that are left out again if there is no other.
        """
        routes = self._routes
        if len(routes) > 1:
            there = [route for route in routes if not route.limiter.is_left_out]
            routes = there or ([] if had_outage else routes)
        if not routes:
            raise Outage(self._last_words())
        best = min(routes, key=lambda route: route.limiter.load)
        if len(routes) == 1 or best.limiter.load < 1:
            return best, await best.limiter.acquire(tokens)
        return await _first(routes, tokens)

    def _last_words(self) -> str:
        words = {route.limiter.last_words: None for route in self._routes}
        return f"None of the {len(self._routes)} addresses answers. {' '.join(words)}"


async def _first(routes: Sequence[Route], tokens: int) -> tuple[Route, Permit]:
    """The first slot of several addresses; the places in the other queues are given back."""
    waiting = {asyncio.ensure_future(route.limiter.acquire(tokens)): route for route in routes}
    last: BaseException | None = None
    try:
        while waiting:
            ended, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                if (last := task.exception()) is None:
                    return waiting.pop(task), task.result()
                del waiting[task]
        assert last is not None  # noqa: S101
        raise last
    finally:
        for task, route in waiting.items():
            if not task.cancel() and task.exception() is None:  # it got one at the same moment
                route.limiter.release(task.result(), is_unused=True)
