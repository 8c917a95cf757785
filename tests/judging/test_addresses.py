"""A judge with several addresses: spread over them, and continued where one fails."""

import asyncio
import io
import json
import math
from collections import Counter
from decimal import Decimal

import pytest
from django.core.management import call_command

from judging.engine.asker import OwnFaults, Route, Routes
from judging.engine.interface import Misconfigured, Outage
from judging.engine.limits import RateLimits
from judging.engine.rate_limits import LEFT_OUT_SECONDS, Limiter
from judging.errors import BadJudge, InvalidValue
from judging.models import Attempt, Judge, JudgeRun
from judging.runs.judges import add_judge
from judging.runs.study_content import judges_of
from judging.selectors import run_cost
from tests.judging.conftest import make_judge
from tests.judging.llm_server import LlmServer, completion, error
from tests.judging.run_helpers import asked, judge_all, study_of
from tests.judging.simulated_clock import Clock, in_a_loop


def made(*slots, clock=None):
    clock = clock or Clock()
    limiters = [Limiter(RateLimits(concurrency=n), clock=clock) for n in slots]
    routes = [Route(None, limiter) for limiter in limiters]
    return Routes(routes), routes, clock


def fail(route, permit, fault):
    with pytest.raises(Outage):
        route.limiter.failed(permit, fault)
    route.limiter.release(permit)


def test_requests_go_to_the_address_with_the_most_room():
    async def scenario():
        routes, (first, _), _ = made(2, 6)
        taken = [await routes.acquire(0, had_outage=False) for _ in range(8)]
        return Counter("first" if route is first else "second" for route, _ in taken)

    assert asyncio.run(scenario()) == {"first": 2, "second": 6}


def test_who_waits_gets_the_first_slot_of_any_address_and_leaves_the_other_queue():
    async def scenario():
        routes, (first, second), _ = made(1, 1)
        held = [await routes.acquire(0, had_outage=False) for _ in range(2)]
        waiting = asyncio.ensure_future(routes.acquire(0, had_outage=False))
        await asyncio.sleep(0)
        second_permit = next(permit for route, permit in held if route is second)
        second.limiter.release(second_permit)
        route, _ = await asyncio.wait_for(waiting, 30)
        first.limiter.release(next(permit for r, permit in held if r is first))
        return route is second, first.limiter.load, second.limiter.load

    assert asyncio.run(scenario()) == (True, 0.0, 1.0)


def test_an_address_that_is_given_up_is_left_out_for_a_while_and_tried_again_later():
    async def scenario():
        routes, (first, second), clock = made(4, 4)
        route, permit = await routes.acquire(0, had_outage=False)
        fail(route, permit, Misconfigured("wrong model"))
        other = second if route is first else first
        assert routes.others_answer(route)
        taken = [await routes.acquire(0, had_outage=True) for _ in range(3)]
        assert {id(r) for r, _ in taken} == {id(other)}
        clock.now += LEFT_OUT_SECONDS
        again, _ = await routes.acquire(0, had_outage=False)
        return again is route

    assert asyncio.run(scenario())


@in_a_loop
async def test_only_if_all_addresses_are_given_up_is_there_an_outage():
    routes, both, _ = made(4, 4)
    for route in both:
        fail(route, await route.limiter.acquire(), Misconfigured(f"no key {id(route)}"))
    assert not routes.others_answer(both[0])
    with pytest.raises(Outage, match=r"None of the 2 addresses answers\. no key .* no key"):
        await routes.acquire(0, had_outage=True)
    # A later question tries them again, as a user who continues the run expects.
    await routes.acquire(0, had_outage=False)


def test_faults_are_a_question_s_own_only_where_others_were_answered_meanwhile():
    _, (first, second), _ = made(4, 4)
    faults = OwnFaults()

    counts = [faults.count(first.limiter) for _ in range(3)]
    second.limiter.successes += 5  # of another address: says nothing about this one
    assert (counts, faults.are_own(first.limiter)) == ([1, 2, 3], False)
    first.limiter.successes += 1
    assert faults.are_own(first.limiter)
    assert not faults.are_own(second.limiter)


@pytest.fixture
def second():
    server = LlmServer()
    yield server
    server.stop()


def test_a_run_asks_all_addresses_and_says_so(llm, second, engine):
    judge = make_judge(base_url=llm.url, more_base_urls=[second.url], concurrency=4)
    study = study_of(40)

    run = judge_all(study, judge)

    assert run.state == "done"
    assert llm.requests
    assert second.requests
    assert sum((asked(llm) + asked(second)).values()) == 40
    assert run.parameters["base_url"] == llm.url
    assert run.parameters["more_base_urls"] == [second.url]


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    "answer", [error(401, "no such key"), error(404, "no such model"), error(503)]
)
def test_a_run_goes_on_while_one_address_fails(llm, second, engine, answer):
    second.answer = lambda body, n: answer
    judge = make_judge(base_url=llm.url, more_base_urls=[second.url], outage_seconds=1)
    study = study_of(30)

    run = judge_all(study, judge)

    assert run.state == "done"
    assert asked(llm).total() == run.judgments.filter(state="done").count() == 30
    assert Attempt.objects.filter(judgment__run=run).count() == 30 + len(second.requests)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["http://169.254.169.254/v1"], "link-local or metadata"),
        (["http://b/v1", "http://b/v1/"], "twice"),
        (["http://a/v1"], "twice"),
        (["b:8000"], "must be an address like"),
        (["http://u:p@b/v1"], "neither a password"),
    ],
)
def test_every_address_is_checked_like_the_first(more, message):
    with pytest.raises(InvalidValue, match=message) as raised:
        add_judge(name="j", model="m", base_url="http://a/v1", more_base_urls=more)

    assert raised.value.field == "more_base_urls"


@pytest.mark.django_db
def test_a_judge_without_a_server_has_no_addresses():
    with pytest.raises(BadJudge, match="has no server"):
        add_judge(name="j", model="m", backend="replay", more_base_urls=["http://a/v1"])


@pytest.mark.django_db
def test_a_stored_key_is_not_sent_to_an_address_that_is_added():
    add_judge(name="j", model="m", base_url="http://a/v1")
    Judge.objects.update(sealed_key="sealed")

    add_judge(name="j", price_input=1, price_output=1)
    assert Judge.objects.get().sealed_key
    add_judge(name="j", more_base_urls=["http://b/v1"])
    assert not Judge.objects.get().sealed_key


@pytest.mark.django_db(transaction=True)
def test_the_launch_check_names_the_address_that_does_not_answer(llm, engine):
    judge = make_judge(base_url=llm.url, more_base_urls=["http://127.0.0.1:1/v1"])
    study = study_of(1)
    judge_all(study, judge)

    (check,) = judges_of(study)

    assert "judge at http://127.0.0.1:1/v1" in check.text
    assert llm.url not in check.text


def test_cached_input_costs_its_own_price_and_the_saving_is_known(llm, engine):
    def answer(body, n):
        reply = completion("[[A]]")
        if n % 2:
            body = json.loads(reply.body)
            body["usage"]["prompt_tokens_details"] = {"cached_tokens": 80}
            reply.body = json.dumps(body).encode()
        return reply

    llm.answer = answer
    judge = make_judge(
        base_url=llm.url, price_input=2, price_output=10, price_cached_input=Decimal("0.5")
    )
    judge.refresh_from_db()
    study = study_of(10)

    printed = io.StringIO()
    options = {"judge": judge.name, "inline": True, "yes": True, "stdout": printed}
    call_command("judge", study.slug, **options)
    cost = run_cost(JudgeRun.objects.get())

    # 10 requests of 100 tokens in, 10 out; half of them with 80 tokens cached.
    assert cost.cached_tokens == 400
    assert cost.cached_percent == 40
    assert math.isclose(cost.dollars, (600 * 2 + 400 * 0.5 + 100 * 10) / 1e6)
    assert math.isclose(cost.saved, 400 * 1.5 / 1e6)
    assert "Cached: 40 % of input tokens, saved $0.0006." in printed.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ({"price_cached_input": 1}, "needs"),
        ({"price_input": 1, "price_output": 1, "price_cached_input": 2}, "must not be above"),
    ],
)
def test_a_cached_price_that_would_break_budgets_is_refused(prices, message):
    with pytest.raises(InvalidValue, match=message):
        add_judge(name="j", model="m", base_url="http://a/v1", **prices)
