"""How many requests are under way at once, by a clock that jumps."""

import asyncio
import random
import statistics

import pytest

from judging.engine.interface import RateLimited, TimedOut
from judging.engine.rate_limits import Limiter, Permit
from judging.models import Judge
from judging.models.judges import MOST_SLOTS
from judging.worker.endpoints import FIRST_SLOTS, limits_of
from tests.judging.simulated_clock import simulate


class Server:
    """Works on so many requests at once, each for a time; others wait their turn."""

    def __init__(self, *, seconds, at_once=10_000, refuses_above=10_000, timeout=120):
        self.seconds, self.refuses_above, self.timeout = seconds, refuses_above, timeout
        self._workers = asyncio.Semaphore(at_once)
        self.under_way = self.most = self.answered = self.timed_out = 0
        self.seen: list[int] = []

    @property
    def typical(self) -> float:
        """The median number under way in the second half."""
        return statistics.median(self.seen[len(self.seen) // 2 :])

    async def answer(self):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        self.seen.append(self.under_way)
        try:
            if self.under_way > self.refuses_above:
                raise RateLimited("slow down")
            async with asyncio.timeout(self.timeout), self._workers:
                await asyncio.sleep(self.seconds() if callable(self.seconds) else self.seconds)
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

    # With 16 slots it would be 80 a second, with 64 it would be 320; here 150 ask.
    assert server.answered > 10 * 600
    assert server.most == 150


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
    assert ask_for(600, seconds=60).most == 150


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("at_once", [20, 50])
@pytest.mark.parametrize("seconds", [0.2, 2.0])
def test_slots_grow_to_what_a_server_works_on_at_once_and_no_further(at_once, seconds):
    server = ask_for(300 * seconds, seconds=seconds, at_once=at_once)

    assert server.answered > 0.95 * 300 * at_once
    assert server.typical < 1.7 * at_once + 4
    assert server.timed_out == 0


def test_slots_shrink_if_a_server_gets_slower_and_grow_again_afterwards():
    limiter = Limiter(limits_of(Judge()))
    permits = Permit(0.0, 0, 0)
    times = iter([0.2] * 400 + [0.6] * 1200 + [0.2] * 2000)
    seen = []

    now = 0.0
    limiter._clock = lambda: now
    for now in times:  # noqa: B007 - the clock reads it
        limiter.succeeded(permits)
        seen.append(limiter.slots)

    assert max(seen[:400]) == MOST_SLOTS
    assert min(seen[400:1600]) <= MOST_SLOTS / 2
    assert min(seen[400:]) >= 16
    assert seen[-1] > min(seen[400:1600])


def test_a_number_that_was_given_is_used_whatever_the_response_times_are():
    assert not limits_of(Judge(concurrency=64)).is_adaptive
    assert ask_for(60, Judge(concurrency=64), seconds=0.2, at_once=20).most == 64


def test_replies_of_different_length_are_no_reason_for_fewer_slots():
    rng = random.Random(7)
    server = ask_for(300, seconds=lambda: rng.lognormvariate(0.0, 0.6))

    assert server.typical > 100


def test_a_provider_that_complains_gets_no_more_than_it_takes():
    server = ask_for(120, seconds=0.2, refuses_above=30)

    assert server.most <= 40  # after the first complaint one slot more for a round of answers
    assert server.answered > 120 * 80


def test_a_server_that_lets_requests_time_out_is_asked_less_at_once():
    server = ask_for(3000, Judge(timeout_seconds=20), seconds=3, at_once=1, timeout=20)

    assert server.timed_out < 200
    assert server.answered > 900


@pytest.mark.parametrize("slots", [64, None])
def test_the_few_slots_of_the_start_cost_less_than_a_seventh_of_a_short_run(slots):
    """A bare client with 64 slots needs 6.4 seconds for 2,000 questions of .2 seconds."""

    async def scenario(clock):
        limiter = Limiter(limits_of(Judge(concurrency=slots)), clock=clock)
        begun = clock()

        async def ask():
            permit = await limiter.acquire()
            await asyncio.sleep(0.2)
            limiter.succeeded(permit)
            limiter.release(permit)

        await asyncio.gather(*(ask() for _ in range(2000)))
        return clock() - begun

    assert 6.4 / simulate(scenario) > 0.85


@pytest.mark.parametrize(("seconds", "timeout"), [(4, 12), (7, 12), (10, 12), (50, 120)])
@pytest.mark.parametrize("judge", [{}, {"concurrency": 64}])
def test_a_server_with_one_slot_is_waited_for_and_not_given_up(seconds, timeout, judge):
    judge = Judge(timeout_seconds=timeout, outage_seconds=timeout, **judge)

    server = ask_for(200 * seconds, judge, seconds=seconds, at_once=1, timeout=timeout)

    assert server.answered >= 140
    assert server.timed_out <= 30


def test_a_server_that_answers_nothing_any_more_is_given_up_after_few_time_outs():
    async def scenario(clock):
        judge = Judge(timeout_seconds=20, outage_seconds=60)
        limiter = Limiter(limits_of(judge), clock=clock)
        begun = clock()
        limiter.successes = 1  # in an earlier run
        limiter._window = 64.0
        sent = 0

        async def ask():
            nonlocal sent
            while True:
                permit = await limiter.acquire()
                sent += 1
                await asyncio.sleep(20)
                try:
                    limiter.failed(permit, TimedOut("no answer within 20 seconds"))
                finally:
                    limiter.release(permit)

        await asyncio.gather(*(ask() for _ in range(100)), return_exceptions=True)
        return clock() - begun, sent

    seconds, sent = simulate(scenario)

    assert seconds <= 20 + 60 + 60
    assert sent <= 64 + 8


def test_a_quick_server_is_asked_twice_as_much_after_each_round_of_answers():
    server = ask_for(1.15, seconds=0.2)

    assert server.seen[0] == 1
    assert server.most >= 2 * 2**5  # after five rounds


def test_a_judge_without_a_server_has_all_its_slots_from_the_start():
    judge = Judge(backend="replay", concurrency=50)

    assert ask_for(0.1, judge, seconds=1).most == 50
