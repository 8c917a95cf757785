"""How many requests are under way at once, by a clock that jumps."""

import asyncio

import pytest

from judging.engine.interface import RateLimited, TimedOut
from judging.engine.rate_limits import Limiter
from judging.models import Judge
from judging.worker.endpoints import FIRST_SLOTS, limits_of
from tests.judging.simulated_clock import simulate


class Server:
    """Works on so many requests at once, each for a time; others wait their turn."""

    def __init__(self, *, seconds, at_once=10_000, refuses_above=10_000, timeout=120):
        self.seconds, self.refuses_above, self.timeout = seconds, refuses_above, timeout
        self._workers = asyncio.Semaphore(at_once)
        self.under_way = self.most = self.answered = self.timed_out = 0

    async def answer(self):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if self.under_way > self.refuses_above:
                raise RateLimited("slow down")
            async with asyncio.timeout(self.timeout), self._workers:
                await asyncio.sleep(self.seconds)
            self.answered += 1
        except TimeoutError:
            self.timed_out += 1
            raise TimedOut("no answer in time") from None
        finally:
            self.under_way -= 1


def ask_for(duration, judge=None, **behaviour):
    """Ask a server as fast as the judge's limits allow, for so many seconds."""

    async def scenario(clock):
        limiter, server = Limiter(limits_of(judge or Judge()), clock=clock), Server(**behaviour)

        async def ask():
            while True:
                permit = await limiter.acquire()
                try:
                    await server.answer()
                    limiter.succeeded(permit)
                except (RateLimited, TimedOut) as fault:
                    limiter.failed(permit, fault)
                finally:
                    limiter.release(permit)

        tasks = [asyncio.ensure_future(ask()) for _ in range(150)]
        await asyncio.sleep(duration)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return server

    return simulate(scenario)


def test_a_quick_server_gets_more_at_once_than_a_new_one():
    server = ask_for(10, seconds=0.2)

    # With 16 slots it would be 80 a second; with all 64 it is 320.
    assert server.answered > 10 * 280
    assert server.most == 64


def test_nobody_is_asked_everything_before_it_has_answered():
    assert ask_for(0.1, seconds=0.2).most == FIRST_SLOTS


@pytest.mark.parametrize("slots", [1, 8, 16])
def test_a_judge_never_has_more_slots_than_it_is_given(slots):
    server = ask_for(5, Judge(concurrency=slots), seconds=0.2)

    assert server.most == slots


def test_a_server_that_answers_one_after_the_other_is_not_asked_more_than_it_answers_in_time():
    server = ask_for(600, seconds=3, at_once=1)

    assert server.timed_out == 0
    assert server.most < 30
    assert server.answered >= 195


def test_a_server_that_thinks_for_long_gets_all_slots_too():
    assert ask_for(600, seconds=60).most == 64


def test_a_provider_that_complains_gets_no_more_than_it_takes():
    server = ask_for(120, seconds=0.2, refuses_above=30)

    assert server.most <= 40  # after the first complaint one slot more for a round of answers
    assert server.answered > 120 * 80


def test_a_server_that_lets_requests_time_out_is_asked_less_at_once():
    server = ask_for(3000, Judge(timeout_seconds=20), seconds=3, at_once=1, timeout=20)

    assert server.timed_out < 200
    assert server.answered > 900


def test_a_model_in_this_process_has_all_its_slots_from_the_start():
    judge = Judge(backend="transformers", concurrency=50)

    assert ask_for(0.1, judge, seconds=1).most == 50
