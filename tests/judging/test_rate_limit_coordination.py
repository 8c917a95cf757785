"""Several processes at one endpoint: what all of them do together keeps the limits."""

import asyncio
import os
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest
import redis
from django.db import connection

from judging.engine.interface import Misconfigured, Outage, RateLimited
from judging.engine.limits import BURST_SECONDS, Grant, LimitReport, RateLimits
from judging.engine.rate_limits import Limiter
from judging.models import SharedLimit
from judging.worker import shared_limits
from judging.worker.shared_limits import (
    SILENT_SECONDS,
    CoordinationFailed,
    Document,
    fair_slots,
    grant_for,
    keep_coordinating,
)
from tests.judging.llm_server import completion, error
from tests.judging.processes import Site, wait_for
from tests.judging.simulated_clock import in_a_loop, simulate
from tests.servers import redis_broker


def report(**overrides):
    fields = {
        "limits": RateLimits(concurrency=10),
        "held": 0,
        "wanted": 100,
        "requests": 0.0,
        "tokens": 0.0,
        "first_tokens": 0.0,
        "pause": 0.0,
        "has_cut": False,
    }
    return LimitReport(**fields | overrides)


@pytest.mark.parametrize(
    ("wanted", "shares"),
    [
        ({"a": 100}, {"a": 10}),
        ({"a": 100, "b": 100}, {"a": 5, "b": 5}),
        ({"a": 2, "b": 100}, {"a": 2, "b": 8}),
        ({"a": 100, "b": 100, "c": 100}, {"a": 4, "b": 3, "c": 3}),
        ({"a": 1, "b": 1}, {"a": 1, "b": 1}),
    ],
)
def test_slots_are_split_evenly_among_those_who_want_them(wanted, shares):
    assert fair_slots(wanted, 10) == shares


def test_a_process_alone_gets_every_slot_at_once():
    grant = grant_for({}, "a", report(wanted=1), now=0.0)

    assert grant.slots == 10


def test_slots_go_to_another_process_only_when_they_were_given_back():
    document: Document = {}
    grant_for(document, "a", report(), now=0.0)

    first = grant_for(document, "b", report(), now=0.1)
    smaller = grant_for(document, "a", report(held=10), now=0.5)
    still_none = grant_for(document, "b", report(), now=0.6)
    grant_for(document, "a", report(held=5), now=1.0)
    then = grant_for(document, "b", report(), now=1.1)

    assert (first.slots, smaller.slots, still_none.slots, then.slots) == (0, 5, 0, 5)


def test_what_a_silent_process_held_is_free_after_a_while():
    document: Document = {}
    grant_for(document, "a", report(), now=0.0)

    grant = grant_for(document, "b", report(), now=SILENT_SECONDS + 1)

    assert grant.slots == 10


def test_a_process_with_nothing_to_do_leaves():
    document: Document = {}
    grant_for(document, "a", report(), now=0.0)
    grant_for(document, "a", report(wanted=0), now=1.0)

    assert grant_for(document, "b", report(), now=1.0).slots == 10


def test_requests_a_minute_are_drawn_from_one_bucket():
    document: Document = {}
    limits, drawn = RateLimits(concurrency=10, rpm=600), 0.0

    for step in range(120):  # a minute in which two processes want as much as they can get
        for member in ("a", "b"):
            asked = report(limits=limits, held=5, requests=1000.0)
            drawn += grant_for(document, member, asked, now=step / 2).requests

    assert 590 <= drawn <= 632  # the minute's rate and one burst


def test_a_request_larger_than_the_bucket_is_let_go_and_paid_back():
    document: Document = {}
    limits = RateLimits(tpm=600)
    asked = report(limits=limits, tokens=5000.0, first_tokens=1200.0)

    assert grant_for(document, "a", asked, now=0.0).tokens == 1200
    assert grant_for(document, "a", asked, now=100.0).tokens == 0
    assert grant_for(document, "a", asked, now=118.0).tokens == 1200


def test_a_pause_of_one_process_is_everybodys_until_it_is_taken_back():
    document: Document = {}
    grant_for(document, "a", report(pause=20.0, has_cut=True), now=0.0)

    during = grant_for(document, "b", report(), now=5.0)
    grant_for(document, "a", report(pause=None), now=6.0)
    after = grant_for(document, "b", report(), now=7.0)

    assert (during.pause, during.cuts) == (15.0, 1)
    assert after.pause == 0


async def permits_of(limiter):
    """How many requests it lets go now."""
    taken = 0
    while True:
        waiting = asyncio.ensure_future(limiter.acquire())
        await asyncio.sleep(0)
        if not waiting.done():
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            return taken
        taken += 1


def exchange_once(limiter, document, member="a", now=0.0):
    told = limiter.report()
    limiter.take(grant_for(document, member, told, now=now), told)


@in_a_loop
async def test_nothing_leaves_before_it_was_granted():
    limiter = Limiter(RateLimits(concurrency=4), is_shared=True)
    assert await permits_of(limiter) == 0
    assert limiter.news.is_set()
    waiting = asyncio.ensure_future(limiter.acquire())
    await asyncio.sleep(0)

    exchange_once(limiter, {})

    await asyncio.wait_for(waiting, 1)
    assert await permits_of(limiter) == 3


@in_a_loop
async def test_requests_that_were_drawn_are_used_up():
    limiter = Limiter(RateLimits(concurrency=100, rpm=60), is_shared=True)
    waiting = [asyncio.ensure_future(limiter.acquire()) for _ in range(50)]
    await asyncio.sleep(0)

    exchange_once(limiter, {})
    await asyncio.sleep(0)

    assert sum(future.done() for future in waiting) == 3
    for future in waiting:
        future.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.nightly
def test_a_second_process_soon_has_half_of_the_slots_that_the_first_one_held():
    """In simulated time: it is enough that nobody waits for a report every half second."""
    document: Document = {}

    class AtOnce(Executor):
        def submit(self, work, /, *arguments, **named):
            done: Future[Grant] = Future()
            done.set_result(work(*arguments, **named))
            return done

    async def scenario(clock):
        async def ask(limiter):
            permit = await limiter.acquire()
            await asyncio.sleep(0.02)
            limiter.release(permit)

        def start(name):
            limiter = Limiter(RateLimits(concurrency=16), clock=clock, is_shared=True)

            def exchange(told):
                return grant_for(document, name, told, now=clock())

            tasks.append(asyncio.ensure_future(keep_coordinating(limiter, exchange, AtOnce())))
            tasks.extend(asyncio.ensure_future(ask(limiter)) for _ in range(10_000))
            return limiter

        tasks: list[asyncio.Future[None]] = []
        first = start("first")
        await asyncio.sleep(3)
        assert first.slots == 16
        began, second = clock(), start("second")
        while second.slots < 8:
            await asyncio.sleep(0.001)
        assert first.slots == 8
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return clock() - began

    assert simulate(scenario) < 0.8


@in_a_loop
async def test_a_429_of_another_process_pauses_and_slows_this_one():
    document: Document = {}
    limiter, other = (Limiter(RateLimits(concurrency=16), is_shared=True) for _ in range(2))
    first = asyncio.ensure_future(other.acquire())
    await asyncio.sleep(0)
    exchange_once(other, document, "other")
    permit = await first
    mine = asyncio.ensure_future(limiter.acquire())
    await asyncio.sleep(0)
    exchange_once(limiter, document)
    exchange_once(other, document, "other")
    exchange_once(limiter, document)

    other.failed(permit, RateLimited("slow down", retry_after=30))
    exchange_once(other, document, "other")
    told = limiter.report()
    grant = grant_for(document, "a", told, now=0.0)
    limiter.take(grant, told)

    assert 29 < grant.pause <= 30
    assert limiter._window == 8
    assert await permits_of(limiter) == 0
    mine.cancel()
    await asyncio.gather(mine, return_exceptions=True)


@in_a_loop
async def test_an_endpoint_that_is_given_up_is_not_paused_for_the_next_run():
    document: Document = {}
    limiter = Limiter(RateLimits(concurrency=2), is_shared=True)
    waiting = asyncio.ensure_future(limiter.acquire())
    await asyncio.sleep(0)
    exchange_once(limiter, document)
    permit = await waiting
    limiter.failed(permit, RateLimited("slow down", retry_after=60))
    exchange_once(limiter, document)

    with pytest.raises(Outage):
        limiter.failed(permit, Misconfigured("wrong key"))
    limiter.release(permit)
    exchange_once(limiter, document)

    assert document["resume_at"] == 0


@pytest.mark.parametrize(
    "problem", [CoordinationFailed("restarting"), KeyError("members"), ValueError("no JSON")]
)
def test_a_store_that_fails_for_a_while_is_tried_again(monkeypatch, problem):
    monkeypatch.setattr("judging.worker.shared_limits._RETRY_SECONDS", 0.0)
    document: Document = {}
    calls: list[LimitReport] = []

    def exchange(told):
        calls.append(told)
        if len(calls) == 1:
            raise problem
        return grant_for(document, "a", told, now=0.0)

    async def scenario():
        limiter = Limiter(RateLimits(concurrency=4), is_shared=True)
        with ThreadPoolExecutor(1) as executor:
            task = asyncio.ensure_future(keep_coordinating(limiter, exchange, executor))
            permit = await asyncio.wait_for(limiter.acquire(), 5)
            limiter.release(permit)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())

    assert len(calls) >= 2


@pytest.mark.django_db(transaction=True)
def test_processes_that_settle_at_the_same_time_hand_out_no_slot_twice():
    granted, start = [], threading.Barrier(6)

    def take_part(number):
        start.wait()
        try:
            grant = shared_limits._in_database("endpoint", f"m{number}", report())
            granted.append(grant.slots)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(take_part, range(6)))

    assert sum(granted) == 10
    members = SharedLimit.objects.get().document["members"].values()
    assert sum(member["slots"] for member in members) == 10


@pytest.fixture(scope="module")
def redis_url():
    if (url := os.environ.get("CELERY_BROKER_URL", "")).startswith("redis"):
        yield url
        return
    with redis_broker() as url:
        yield url


def test_redis_hands_out_no_slot_twice(redis_url, settings):
    settings.CELERY_BROKER_URL = redis_url
    shared_limits._redis.cache_clear()
    granted, endpoint = [], f"test-{time.time_ns()}"

    def take_part(number):
        granted.append(shared_limits._in_redis(endpoint, f"m{number}", report()).slots)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(take_part, range(6)))

    assert sum(granted) == 10
    shared_limits._redis(os.getpid()).close()
    shared_limits._redis.cache_clear()


def test_what_others_write_is_seen_while_another_thread_makes_the_client(
    redis_url, settings, monkeypatch
):
    """Threads that begin at once each make a client, of which the last is kept for all."""
    settings.CELERY_BROKER_URL = redis_url
    shared_limits._redis.cache_clear()
    grant_for, asked = shared_limits.grant_for, []
    endpoint = f"test-{time.time_ns()}"

    def settle_meanwhile(*args, **kwargs):
        asked.append(args)
        if len(asked) == 1:
            shared_limits._redis.cache_clear()
            with redis.Redis.from_url(redis_url) as other:
                other.set(f"thirdperson:limits:{endpoint}", "{}")
        return grant_for(*args, **kwargs)

    monkeypatch.setattr(shared_limits, "grant_for", settle_meanwhile)
    shared_limits._in_redis(endpoint, "m", report())
    shared_limits._redis.cache_clear()

    assert len(asked) == 2


@pytest.mark.nightly  # The tests above have the same store and several processes of it.
@pytest.mark.e2e
@pytest.mark.sqlite
@pytest.mark.parametrize("store", ["database", "redis"])
def test_two_workers_keep_one_limit_and_one_pause(llm, tmp_path, store, request):
    arrived, turned_away = [], []

    def answer(body, number):
        arrived.append(time.monotonic())
        if number == 60:
            turned_away.append(time.monotonic())
            return error(429, "slow down", Retry_After="5")
        reply = completion("[[A]]")
        reply.delay = 0.1
        return reply

    llm.answer = answer
    site = Site(tmp_path)
    if store == "redis":
        site.env["CELERY_BROKER_URL"] = request.getfixturevalue("redis_url")
    site.prepare("shared", 240, llm.url, "--concurrency", "6", "--rpm", "1800")
    logs = ["one.log", "two.log"]
    workers = [site.worker(threads=1, log=log) for log in logs]
    try:
        for log in logs:
            wait_for(f"the worker of {log}", lambda: b" ready." in (tmp_path / log).read_bytes())  # noqa: B023
        site.manage(["judge", "shared", "--judge", "j"])
        ended = "SELECT count(*) FROM judging_judgerun WHERE state = 'done'"
        wait_for("the end of the run", lambda: site.sql(ended)[0][0] == 1)
    finally:
        for worker in workers:
            worker.terminate()
            worker.wait(timeout=60)

    assert llm.most_at_once <= 6
    for log in logs:  # both took part
        assert b"Task judging.tasks.judge_chunk[" in (tmp_path / log).read_bytes()
    assert len(arrived) == 241
    per_second = 1800 / 60
    assert arrived[-1] - arrived[0] >= 241 / per_second - BURST_SECONDS
    pause_began = turned_away[0]
    assert not [t for t in arrived if pause_began + 2.5 < t < pause_began + 4.9]
