import asyncio

import pytest

from judging.engine.interface import (
    Misconfigured,
    NoAccess,
    Outage,
    RateLimited,
    Rejected,
    ServerError,
    TimedOut,
    Unreachable,
)
from judging.engine.limits import RateLimits
from judging.engine.rate_limits import CIRCUIT_FAILURES, Limiter, Permit
from tests.judging.simulated_clock import Clock, in_a_loop


def timed(**limits):
    """A limiter, and the clock by which it waits."""
    clock = Clock()
    return Limiter(RateLimits(**limits), clock=clock), clock


async def take(limiter, n):
    return [await asyncio.wait_for(limiter.acquire(), 1) for _ in range(n)]


async def is_held_back(limiter) -> bool:
    """Whether the next request would have to wait."""
    waiting = asyncio.ensure_future(limiter.acquire())
    await asyncio.sleep(0)
    held = not waiting.done()
    if held:
        waiting.cancel()
    else:
        limiter.release(waiting.result())
    await asyncio.gather(waiting, return_exceptions=True)
    return held


@in_a_loop
async def test_no_more_requests_are_under_way_than_there_are_slots():
    limiter = Limiter(RateLimits(concurrency=2))
    first, _ = await take(limiter, 2)
    assert await is_held_back(limiter)

    limiter.release(first)

    assert not await is_held_back(limiter)


@in_a_loop
async def test_a_429_halves_the_slots_once_for_a_whole_wave():
    limiter, clock = timed(concurrency=16)
    wave = await take(limiter, 8)
    clock.now += 1

    for permit in wave:
        limiter.failed(permit, RateLimited("slow down", retry_after=1))

    assert limiter.slots == 8


@in_a_loop
async def test_slots_grow_back_while_the_server_answers():
    limiter, _ = timed(concurrency=16)
    (permit,) = await take(limiter, 1)
    limiter.failed(permit, RateLimited("slow down", retry_after=0))
    assert limiter.slots == 8

    for _ in range(200):
        limiter.succeeded(permit)

    assert limiter.slots == 16


@in_a_loop
async def test_one_429_pauses_everybody_for_as_long_as_the_server_asks():
    limiter, clock = timed(concurrency=16)
    (permit,) = await take(limiter, 1)

    limiter.failed(permit, RateLimited("slow down", retry_after=20))
    limiter.release(permit)

    clock.now += 19.9
    assert await is_held_back(limiter)
    clock.now += 0.2
    assert not await is_held_back(limiter)


@in_a_loop
async def test_without_retry_after_each_wave_of_429_pauses_twice_as_long():
    limiter, clock = timed(concurrency=16)
    for seconds in (1, 2, 4):
        (permit,) = await take(limiter, 1)
        limiter.failed(permit, RateLimited("slow down"))
        limiter.release(permit)
        clock.now += seconds - 0.1
        assert await is_held_back(limiter)
        clock.now += 0.2
        assert not await is_held_back(limiter)


@in_a_loop
async def test_a_retry_after_beyond_our_patience_ends_the_wait_at_once():
    limiter = Limiter(RateLimits(patience=60))
    (permit,) = await take(limiter, 1)

    with pytest.raises(Outage, match="asks us to wait 3600 seconds, longer than"):
        limiter.failed(permit, RateLimited("tomorrow", retry_after=3600))


@in_a_loop
async def test_a_failing_server_is_tried_by_one_request_at_a_time():
    limiter, _ = timed(concurrency=16)
    permits = await take(limiter, 10)

    for permit in permits[:CIRCUIT_FAILURES]:
        limiter.failed(permit, ServerError("HTTP 500"))
    assert limiter.slots == 1

    limiter.succeeded(permits[-1])
    assert limiter.slots == 16


@in_a_loop
async def test_an_endpoint_is_given_up_when_it_fails_for_longer_than_our_patience():
    limiter, clock = timed(concurrency=2, patience=100)
    first, second = await take(limiter, 2)
    limiter.succeeded(first)
    waiting = asyncio.ensure_future(limiter.acquire())
    await asyncio.sleep(0)
    limiter.failed(second, ServerError("HTTP 500"))
    clock.now += 101

    with pytest.raises(Outage, match=r"no usable answer for 101 seconds.*HTTP 500"):
        limiter.failed(first, ServerError("HTTP 500"))

    with pytest.raises(Outage, match="101 seconds"):
        await waiting


@in_a_loop
async def test_a_server_that_never_answered_is_given_up_sooner():
    limiter, clock = timed(patience=600)
    (permit,) = await take(limiter, 1)
    limiter.failed(permit, Unreachable("refused"))
    clock.now += 31

    with pytest.raises(Outage, match="Check that it is running"):
        limiter.failed(permit, Unreachable("refused"))


@in_a_loop
async def test_a_server_that_loads_its_model_is_waited_for():
    limiter, clock = timed(patience=600)
    (permit,) = await take(limiter, 1)

    limiter.failed(permit, ServerError("HTTP 503: Loading model", status=503))
    clock.now += 500
    limiter.failed(permit, ServerError("HTTP 503: Loading model", status=503))


@in_a_loop
async def test_one_question_that_times_out_is_no_outage_as_long_as_others_wait():
    limiter, clock = timed(concurrency=1, patience=12)
    (permit,) = await take(limiter, 1)
    waiting = asyncio.ensure_future(limiter.acquire())
    await asyncio.sleep(0)
    clock.now += 12

    assert not limiter.failed(permit, TimedOut("no answer"), question=1, has_answered=True)
    limiter.release(permit)

    other = await waiting
    clock.now += 12
    with pytest.raises(Outage, match="no usable answer for 24 seconds"):
        limiter.failed(other, TimedOut("no answer"), question=2, has_answered=True)


@in_a_loop
async def test_an_answer_in_between_renews_the_patience():
    limiter, clock = timed(patience=100)
    (permit,) = await take(limiter, 1)
    for _ in range(5):
        limiter.failed(permit, ServerError("HTTP 500"))
        clock.now += 90
        limiter.succeeded(permit)
        permit.since = clock.now

    limiter.failed(permit, ServerError("HTTP 500"))


@in_a_loop
async def test_after_giving_up_a_later_run_starts_with_fresh_patience():
    limiter, _ = timed()
    (permit,) = await take(limiter, 1)
    with pytest.raises(Outage):
        limiter.failed(permit, Misconfigured("wrong key"))
    limiter.release(permit)

    (later,) = await take(limiter, 1)
    limiter.failed(later, ServerError("HTTP 500"))


@in_a_loop
async def test_what_was_under_way_when_the_endpoint_was_given_up_ends_with_it():
    limiter = Limiter(RateLimits())
    first, second = await take(limiter, 2)
    with pytest.raises(Outage, match="wrong key"):
        limiter.failed(first, NoAccess("wrong key"))

    with pytest.raises(Outage, match=r"^wrong key$"):
        limiter.failed(second, ServerError("HTTP 500"))


@in_a_loop
async def test_a_server_that_rejects_everything_is_not_asked_for_every_item():
    limiter = Limiter(RateLimits())
    (permit,) = await take(limiter, 1)

    for _ in range(9):
        limiter.failed(permit, Rejected("HTTP 400: no such parameter"))
    with pytest.raises(Outage, match="rejects every request: HTTP 400"):
        limiter.failed(permit, Rejected("HTTP 400: no such parameter"))


@in_a_loop
async def test_requests_a_minute_are_spaced_out():
    limiter, clock = timed(concurrency=1000, rpm=60)
    burst = 0
    while not await is_held_back(limiter):
        burst += 1
    assert burst <= 5

    allowed = 0
    for _ in range(600):
        clock.now += 0.1
        while not await is_held_back(limiter):
            allowed += 1

    assert 58 <= allowed <= 61


@in_a_loop
async def test_tokens_a_minute_count_the_size_of_a_request():
    limiter, clock = timed(concurrency=1000, tpm=6000)

    limiter.release(await limiter.acquire(1000))

    clock.now += 6
    assert await is_held_back(limiter)
    clock.now += 1.1
    assert not await is_held_back(limiter)


@in_a_loop
async def test_a_cancelled_request_leaves_its_slot_to_the_next():
    limiter = Limiter(RateLimits(concurrency=1))
    (permit,) = await take(limiter, 1)
    waiting = asyncio.ensure_future(limiter.acquire())
    await asyncio.sleep(0)
    limiter.release(permit)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert not await is_held_back(limiter)


async def fail_again_and_again(limiter, clock):
    """Every request fails at once, and the next one leaves as soon as it may."""
    while True:
        limiter.failed(Permit(clock.now, 0, 1), ServerError("HTTP 500"))
        clock.now = max(clock.now, limiter._resume_at)


@pytest.mark.parametrize(("patience", "told"), [(1, "1 second"), (3, "3 seconds")])
def test_a_dead_server_is_waited_for_exactly_as_long_as_the_judge_says(patience, told):
    async def scenario():
        limiter, clock = timed(patience=patience)
        limiter.succeeded(*await take(limiter, 1))
        began = clock.now

        with pytest.raises(Outage, match=f"no usable answer for {told}; the last error was: HTTP"):
            await fail_again_and_again(limiter, clock)

        assert clock.now - began == patience

    asyncio.run(scenario())
