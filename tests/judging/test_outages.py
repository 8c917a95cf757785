"""A server that is away for a while, by a clock that jumps: how long it is waited for."""

import asyncio
import random

import pytest

from judging.engine.interface import Outage, RateLimited, ServerError, TimedOut
from judging.engine.limits import RateLimits
from judging.engine.rate_limits import Limiter
from judging.worker.shared_limits import Document, grant_for
from tests.judging.simulated_clock import simulate

FASTEST, SLOWEST = 0.1, 1.5  # answers and faults
LAG = 0.05  # of the store that the workers share their limits by, there and back each


def ask_through(fault, *, patience, away, lasts=250.0, slots=16, workers=2):
    """What becomes of requests to a server that has `fault` for `away` seconds.

    Returns when the first of the workers gave up, counted from the fault's start, and its words;
    None where none did.
    """

    async def scenario(clock):
        document: Document = {}
        ended: list[tuple[float, str]] = []
        draw = random.Random(7)
        begins = clock() + 10
        limits = RateLimits(concurrency=slots, patience=patience)
        limiters = [Limiter(limits, clock=clock, is_shared=True) for _ in range(workers)]

        async def share(limiter, name):
            while True:
                told = limiter.report()
                await asyncio.sleep(LAG)
                grant = grant_for(document, name, told, now=clock())
                await asyncio.sleep(LAG)
                limiter.take(grant, told)
                await asyncio.sleep(0.5)

        async def ask(limiter):
            while True:
                permit = await limiter.acquire()
                try:
                    is_away = begins <= clock() < begins + away
                    await asyncio.sleep(draw.uniform(FASTEST, SLOWEST))
                    if is_away:
                        limiter.failed(permit, fault)
                    else:
                        limiter.succeeded(permit)
                finally:
                    limiter.release(permit)

        async def work(limiter):
            try:
                await asyncio.gather(*(ask(limiter) for _ in range(slots)))
            except Outage as outage:
                ended.append((clock() - begins, str(outage)))

        tasks = [asyncio.ensure_future(share(one, str(n))) for n, one in enumerate(limiters)]
        tasks += [asyncio.ensure_future(work(one)) for one in limiters]
        await asyncio.sleep(lasts)
        answered = sum(limiter.successes for limiter in limiters)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return (ended[0] if ended else None), answered

    return simulate(scenario)


@pytest.mark.sampled(keep=5)
@pytest.mark.parametrize("slots", [2, 16])
@pytest.mark.parametrize("fault", [ServerError("HTTP 500"), RateLimited("slow down")])
@pytest.mark.parametrize(("patience", "away"), [(12, 4.5), (120, 4.5), (120, 100)])
def test_a_fault_that_is_shorter_than_the_patience_ends_no_run(fault, patience, away, slots):
    lasts = 10 + 1.5 * patience
    ended, answered = ask_through(fault, patience=patience, away=away, slots=slots, lasts=lasts)

    assert ended is None
    assert answered > slots * (lasts - away) / 3  # it is asked again as before


@pytest.mark.parametrize("slots", [2, 16])
@pytest.mark.parametrize("fault", [ServerError("HTTP 500"), RateLimited("slow down")])
@pytest.mark.parametrize("patience", [12, 120])
def test_a_fault_that_is_longer_ends_it_after_the_patience_and_not_before(fault, patience, slots):
    (seconds, words), _ = ask_through(fault, patience=patience, away=1000, slots=slots)

    assert patience - SLOWEST <= seconds <= patience + 2 * SLOWEST
    assert words.startswith(f"The server gave no usable answer for {patience // 10}")
    assert "; the last error was: " in words
    assert "asks to wait" not in words


def test_a_short_fault_of_a_fast_wave_is_tried_again_soon():
    """Sixteen failures at once are one wave, and no reason to wait for sixteen times as long."""
    _, short = ask_through(ServerError("HTTP 500"), patience=120, away=1, lasts=20)
    _, none = ask_through(ServerError("HTTP 500"), patience=120, away=0, lasts=20)

    assert short > none * 0.7


def test_who_asks_to_wait_is_said_to_ask_and_nobody_else():
    fault = ServerError("HTTP 503", retry_after=11)

    (seconds, words), _ = ask_through(fault, patience=12, away=1000)

    assert seconds < 12
    assert "and asks to wait 11 seconds more, together longer than the 12" in words


def test_one_request_that_hangs_while_others_are_answered_is_no_outage():
    async def scenario(clock):
        limiter = Limiter(RateLimits(concurrency=2, patience=120), clock=clock)
        hanging = await limiter.acquire()
        for _ in range(60):
            permit = await limiter.acquire()
            await asyncio.sleep(2)
            limiter.succeeded(permit)
            limiter.release(permit)

        limiter.failed(hanging, TimedOut("no answer within 120 seconds"))

    simulate(scenario)
