"""A clock that jumps: what takes minutes is simulated in a moment."""

import asyncio
import selectors


class Clock:
    """Time that passes only when the test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Jumping(selectors.DefaultSelector):
    """Waits for nothing: where a loop would sleep, time passes at once."""

    now = 1000.0

    def select(self, timeout=None):
        assert timeout is not None, "nothing will ever happen again"
        self.now += max(0.0, timeout)
        return super().select(0)


def simulate(scenario):
    """Run a coroutine function, which is given a clock, in time that passes by itself."""
    selector = Jumping()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now  # type: ignore[method-assign]
    try:
        return loop.run_until_complete(scenario(lambda: selector.now))
    finally:
        loop.close()


def in_a_loop(test):
    """A test that is a coroutine, run in a loop of its own."""

    def run():
        asyncio.run(test())

    run.__name__ = test.__name__
    return run
